// Update: old and new units of each role over time as a film strip, the floor as a line, what the plan says
// comes next, and what it waits for. Pause, resume and undo for those who may.

import { chip, empty, findSet, link, setKey, swatch, type App, type View } from "./app";
import { h, morph, plural, svg, type Child } from "./dom";
import { toneOf, type Sample, type SetItem } from "./model";
import { updateText } from "./sets";
import { ask } from "./stream";

interface Step {
  step: string; title?: string; takes: { replica: number; component: string; pods: number; groupReplica?: number }[];
  podsMade: number; ready: Record<string, number>; fits: boolean; podsWaiting: number;
}
interface Plan {
  state: string; text: string; steps: Step[];
  components: { name: string; desired: number; readyNow: number; readyLeast: number; readyAfter: number }[];
}

const WIDTH = 640, HEIGHT = 84, FORECAST = 200; // of a strip, in its own units

function isOn(s: SetItem): boolean {
  return Boolean(s.status.progress && !s.status.progress.updateEndedAt) || s.status.paused;
}

export class UpdateView implements View {
  readonly el = h("section", { class: "view update", "aria-label": "Update" });
  private at: [string, string] | undefined;
  private plan: Plan | undefined;
  private said = "";
  private busy = "";

  constructor(private readonly app: App) {}

  show(words: string[]): void {
    const [ns, name] = words;
    const next: [string, string] | undefined = ns && name ? [ns, name] : undefined;
    if (next?.join() !== this.at?.join()) {
      this.plan = undefined;
      this.said = "";
    }
    this.at = next;
    this.update();
  }

  update(): void {
    const sets = [...this.app.model.sets.values()].sort((a, b) => Number(isOn(b)) - Number(isOn(a)) || setKey(a).localeCompare(setKey(b)));
    if (sets.length === 0) return morph(this.el, empty("Nothing to update", "There are no sets."));
    const here = this.at ?? [sets[0].namespace, sets[0].status.name];
    const found = findSet(this.app.model, ...here);
    morph(this.el, h("div", { class: "pick" }, h("label", { for: "update-set" }, "Set"),
      h("select", { id: "update-set", onchange: (e) => this.app.go(`update/${(e.target as HTMLSelectElement).value}`) },
        sets.slice(0, 500).map((s) => h("option", { value: setKey(s), selected: setKey(s) === here.join("/") },
          `${setKey(s)}${isOn(s) ? ` — ${updateText(s)}` : ""}`)))),
      found ? this.one(found[0], found[1]) : empty("There is no such set", here.join("/")));
  }

  private one(key: string, s: SetItem): Child {
    const st = s.status, progressing = st.conditions?.find((c) => c.type === "Progressing");
    const waits = (st.progress?.currentlyUpdating ?? []).filter((c) => c.errorMessage);
    const history = this.app.model.history.get(key) ?? [];
    return [h("header", { class: "set-head" },
      h("h1", {}, swatch(st.name, `${st.name}-1`), link(`sets/${setKey(s)}`, st.name), chip(st.paused ? "paused" : isOn(s) ? "updating" : st.verdict.state)),
      h("p", { class: "verdict", "data-strategy": st.strategy, "data-updating": isOn(s) }, `${st.strategy}. `, progressing?.message ?? "", isOn(s) ? ` (${updateText(s)})` : ""),
      waits.map((w) => h("p", { class: "waits-for" }, `Replica ${w.replicaIndex} waits: ${w.errorMessage}`)),
      isOn(s) && st.findings.slice(0, 2).map((f) => h("p", { class: "waits-for", "data-key": f.object }, f.text)),
      this.buttons(s)),
      this.said && h("p", { class: "said", role: "status" }, this.said),
      h("div", { class: "strip-legend" }, h("span", { class: "key still" }, h("i", { class: "cell new" }), "new"),
        h("span", { class: "key still" }, h("i", { class: "cell old" }), "old"),
        h("span", { class: "key still" }, h("i", { class: "dash" }), "floor: at least so many are ready"),
        h("span", { class: "key still" }, h("i", { class: "line" }), "ready")),
      h("ul", { class: "strips" }, st.roles.map((r) => h("li", { "data-key": r.name, "data-strip": r.name, "data-new": r.updated,
        "data-floor": r.minAvailable, "data-ready": r.ready },
        h("div", { class: "strip-name" }, h("b", {}, r.name), h("span", { class: "dim" }, `${r.updated} of ${r.desired} new, ${r.ready} ready`)),
        strip(r.name, history, this.plan, startOf(s))))),
      this.steps()];
  }

  private buttons(s: SetItem): Child {
    const may = this.app.model.meta?.mayWrite ?? false;
    const button = (what: string, text: string): HTMLElement => h("button", { type: "button", disabled: this.busy !== "" || !may,
      "data-key": what, "data-action": what, onclick: () => void this.act(what, s) }, this.busy === what ? "…" : text);
    return h("div", { class: "actions" },
      s.status.paused ? button("resume", "Resume") : button("pause", "Pause"), button("undo", "Undo"),
      h("button", { type: "button", disabled: this.busy !== "", "data-key": "forecast", "data-action": "forecast",
        onclick: () => void this.forecast(s) }, this.busy === "forecast" ? "Planning…" : "Forecast"),
      !may && h("span", { class: "dim" }, "you may look, not change"));
  }

  private async act(what: string, s: SetItem): Promise<void> {
    if (what === "undo" && !confirm(`Go back to the revision before? The pods of ${s.status.name} are replaced again.`)) return;
    await this.run(what, async () => {
      const a = await ask(what, { kind: "pcs", namespace: s.namespace, name: s.status.name });
      this.said = a.code === 0 ? "" : a.error;
    });
  }

  private async forecast(s: SetItem): Promise<void> {
    await this.run("forecast", async () => {
      const a = await ask<Plan>("forecast", { kind: "pcs", namespace: s.namespace, name: s.status.name });
      this.plan = a.document;
      this.said = a.document ? (a.document.steps.length === 0 ? `Nothing more to do: ${a.document.text}` : "") : a.error;
    });
  }

  private async run(what: string, fn: () => Promise<void>): Promise<void> {
    this.busy = what;
    this.update();
    try {
      await fn();
    } catch (e) {
      this.said = e instanceof Error ? e.message : String(e);
    }
    this.busy = "";
    this.update();
  }

  private steps(): Child {
    if (!this.plan || this.plan.steps.length === 0) return null;
    return [h("h2", {}, "Forecast ", h("span", { class: "dim" }, this.plan.text)), stepList(this.plan)];
  }
}

export function stepList(plan: Plan): HTMLElement {
  return h("ol", { class: "steps" }, plan.steps.slice(0, 60).map((x) => h("li", { class: x.fits ? "" : "bad", "data-step": x.step },
    h("b", {}, x.step), " ", x.title ? `${x.title}: ` : "",
    x.takes.length > 0 ? `takes ${x.takes.map((t) => `${plural(t.pods, "pod")} of ${t.component}`).join(", ")}` : "takes nothing",
    x.podsMade > 0 && `; makes ${x.podsMade}`,
    h("span", { class: "dim" }, ` ready ${Object.entries(x.ready).map(([k, v]) => `${k} ${v}`).join(", ")}`),
    !x.fits && h("span", { class: "bad" }, ` ▲ ${plural(x.podsWaiting, "pod")} would wait for room`))),
    plan.steps.length > 60 && h("li", { class: "dim" }, `and ${plan.steps.length - 60} more`));
}
export type { Plan };

// When the update began, by the page's clock: what was there before is old.
function startOf(s: SetItem): number {
  const at = s.status.progress?.updateStartedAt;
  return at ? Date.parse(at) - performance.timeOrigin : -Infinity;
}

// Old above new, over time; the forecast to the right of now, step by step.
function strip(role: string, history: Sample[], plan: Plan | undefined, start: number): SVGElement {
  const now = performance.now(), ahead = plan && plan.steps.length > 0 ? FORECAST : 0, room = WIDTH - ahead;
  const all = history.map((s) => ({ at: s.at, part: s.parts.find((p) => p.name === role) })).filter((s) => s.part);
  const first = all[0]?.at ?? now, span = Math.max(now - first, 10_000);
  const last = all[all.length - 1]?.part;
  const most = Math.max(1, ...all.map((s) => Math.max(s.part!.desired, s.part!.old + s.part!.new)));
  const x = (t: number): number => room - ((now - t) / span) * room;
  const y = (n: number): number => HEIGHT - 6 - (n / most) * (HEIGHT - 14);
  const bars: Child[] = [];
  let ready = "";
  all.forEach((s, i) => {
    // Times of objects are whole seconds: within that one, what is all of one version is old.
    const before = s.at < start || (s.at < start + 1000 && s.part!.old === 0);
    const p = before ? { ...s.part!, old: s.part!.old + s.part!.new, new: 0 } : s.part!, from = x(s.at), to = i + 1 < all.length ? x(all[i + 1].at) : room, w = Math.max(to - from, 0) + 0.6;
    bars.push(svg("rect", { class: "new", x: from, y: y(p.new), width: w, height: y(0) - y(p.new) }));
    bars.push(svg("rect", { class: "old", x: from, y: y(p.new + p.old), width: w, height: y(p.new) - y(p.new + p.old) }));
    ready += `${i ? "L" : "M"}${from.toFixed(1)} ${y(p.ready).toFixed(1)}H${to.toFixed(1)}`;
  });
  const steps: Child[] = [];
  if (plan && ahead) {
    const w = ahead / plan.steps.length;
    let path = `M${room} ${y(last?.ready ?? 0)}`;
    plan.steps.forEach((s, i) => { path += `H${room + i * w}V${y(s.ready[role] ?? last?.ready ?? 0)}`; });
    path += `H${WIDTH - w / 2}V${y(plan.components.find((c) => c.name === role)?.readyAfter ?? last?.desired ?? 0)}H${WIDTH}`;
    steps.push(svg("rect", { class: "ahead", x: room, y: 0, width: ahead, height: HEIGHT - 6 }),
      svg("path", { class: "ready forecast", d: path }));
  }
  return svg("svg", { class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${role}: ${last?.new ?? 0} new and ${last?.old ?? 0} old units, ${last?.ready ?? 0} ready, floor ${last?.floor ?? 0}` },
    bars, svg("path", { class: "ready", d: ready || "M0 0" }), steps,
    last && svg("line", { class: "floor", x1: 0, x2: WIDTH, y1: y(last.floor), y2: y(last.floor) }));
}

export function planTone(p: Plan): string {
  return toneOf(p.state);
}
