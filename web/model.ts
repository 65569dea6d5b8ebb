// What the stream tells, kept as it is: items by name. Views read it; nobody else writes it.

export interface Pod {
  name: string; namespace: string; set: string; gang: string; role: string; devices: number; state: string;
}
export interface FleetNode {
  name: string; zone: string; block: string; rack: string; ready: boolean; cordoned: boolean;
  resource: string; devices: number; reserved: number; used: number; others: number; pods: Pod[];
}
export interface Verdict { state: string; text: string }
export interface Part {
  name: string; desired: number; minAvailable: number; scheduled: number; ready: number; updated: number;
}
export interface Gang {
  name: string; phase: string; pods: number; onNodes: number; minimum: number; readyPods: number;
  ready: boolean; placementScore?: number; waits?: string;
}
export interface Finding extends Verdict { object: string; alike: number }
export interface Condition {
  type: string; status: string; reason: string; message: string; lastTransitionTime: string;
}
export interface UpdateProgress {
  updateStartedAt?: string; updateEndedAt?: string; updatedReplicas?: number;
  currentlyUpdating?: { replicaIndex: number; errorMessage?: string }[];
}
export interface SetStatus {
  name: string; phase: string; verdict: Verdict;
  replicas: { desired: number; available: number; updated: number };
  pods: { desired: number; exist: number; gated: number; onNodes: number; ready: number };
  scalingGroups: Part[]; roles: Part[]; strategy: string; paused: boolean; progress?: UpdateProgress;
  gangs: Gang[]; moreGangs?: number; findings: Finding[]; conditions?: Condition[];
}
export interface SetItem { namespace: string; status: SetStatus }
export interface Meta {
  server: string; namespace: string; version: string; mayWrite: boolean; unreadable: string[]; complete: boolean;
}

// One look at a set's parts, for the film strip of its update.
export interface Sample { at: number; parts: { name: string; old: number; new: number; ready: number;
  desired: number; floor: number }[] }
const MAX_SAMPLES = 400;

// What all nodes amount to, kept up as they change.
export interface Totals { devices: number; used: number; reserved: number; away: number }

interface Line { name: string; value?: unknown }

export class Model {
  meta: Meta | undefined;
  readonly nodes = new Map<string, FleetNode>();
  readonly sets = new Map<string, SetItem>();
  // Items that the server did not send, by name, and why.
  readonly unsent = new Map<string, string>();
  readonly history = new Map<string, Sample[]>();
  readonly totals: Totals = { devices: 0, used: 0, reserved: 0, away: 0 };
  readonly devicesBySet = new Map<string, { set: string; ns: string; n: number }>();
  // Nodes that came, changed or went since somebody asked.
  dirtyNodes = new Set<string>();
  nodesMoved = true; // one came or went, or stands elsewhere
  version = 0;
  nodesVersion = 0;

  take(line: Line): void {
    const slash = line.name.indexOf("/");
    const kind = slash < 0 ? line.name : line.name.slice(0, slash), name = line.name.slice(slash + 1);
    const why = (line.value as { error?: string } | undefined)?.error, value = why === undefined ? line.value : undefined;
    this.version++;
    if (why === undefined) this.unsent.delete(line.name);
    else this.unsent.set(line.name, why);
    if (kind === "node") this.takeNode(name, value as FleetNode | undefined);
    else if (kind === "set") this.takeSet(name, value as SetItem | undefined);
    else if (kind === "meta") this.meta = value as Meta | undefined;
    else if (kind === "anew") this.clear();
  }

  private clear(): void {
    for (const n of this.nodes.values()) this.count(n, -1);
    this.nodes.clear();
    this.sets.clear();
    this.unsent.clear();
    this.nodesMoved = true;
  }

  private takeNode(name: string, node: FleetNode | undefined): void {
    const old = this.nodes.get(name);
    this.dirtyNodes.add(name);
    this.nodesVersion++;
    if (!old || !node || old.rack !== node.rack || old.block !== node.block || old.zone !== node.zone ||
        old.devices !== node.devices)
      this.nodesMoved = true;
    if (old) this.count(old, -1);
    if (node) this.count(node, 1);
    if (node) this.nodes.set(name, node);
    else this.nodes.delete(name);
  }

  private count(n: FleetNode, sign: 1 | -1): void {
    const t = this.totals;
    t.devices += sign * n.devices;
    t.used += sign * n.used;
    t.reserved += sign * n.reserved;
    t.away += n.ready && !n.cordoned ? 0 : sign;
    for (const p of n.pods) {
      if (!p.set || p.devices === 0) continue;
      const key = `${p.namespace}/${p.set}`, s = this.devicesBySet.get(key) ?? { set: p.set, ns: p.namespace, n: 0 };
      s.n += sign * p.devices;
      if (s.n > 0) this.devicesBySet.set(key, s);
      else this.devicesBySet.delete(key);
    }
  }

  private takeSet(name: string, set: SetItem | undefined): void {
    if (!set) {
      this.sets.delete(name);
      this.history.delete(name);
      return;
    }
    this.sets.set(name, set);
    this.sample(name, set.status);
  }

  // Scaling groups count replicas, the other roles pods.
  private sample(name: string, s: SetStatus): void {
    const parts = s.roles.map((r) => ({ name: r.name, old: Math.max(0, r.scheduled - r.updated),
      new: Math.min(r.updated, r.scheduled), ready: r.ready, desired: r.desired, floor: r.minAvailable }));
    const all = this.history.get(name) ?? [];
    const last = all[all.length - 1];
    if (last && JSON.stringify(last.parts) === JSON.stringify(parts)) return;
    all.push({ at: performance.now(), parts });
    if (all.length > MAX_SAMPLES) all.splice(0, all.length - MAX_SAMPLES);
    this.history.set(name, all);
  }
}

// How bad a state is, the worst first: the order of explain/documents/findings.h.
const ORDER = ["failed", "stuck", "degraded", "waiting", "going", "starting", "updating", "paused", "refused",
  "lingering", "stopped", "available"];
export function badness(state: string): number {
  const i = ORDER.indexOf(state);
  return i < 0 ? ORDER.length : i;
}
export type Tone = "good" | "wait" | "bad" | "calm";
export function toneOf(state: string): Tone {
  if (/^(available|ready|complete|running|fits|succeeded)$/i.test(state)) return "good";
  if (/fail|stuck|degraded|error|crash|does not fit|unavailable/i.test(state)) return "bad";
  if (/^(stopped|paused|by hand|partitioned|lingering|no changes|nothing)$/i.test(state)) return "calm";
  return "wait";
}
export const GLYPH: Record<Tone, string> = { good: "●", wait: "◐", bad: "▲", calm: "○" };
