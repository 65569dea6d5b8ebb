// Sets: one line for each, the worst first; a set opens into what it is made of and what it waits for.

import { bar, calmly, chip, empty, findSet, link, setKey, swatch, unsent, type App, type View } from "./app";
import { h, morph, plural, type Child } from "./dom";
import { badness, GLYPH, toneOf, type Gang, type Part, type SetItem } from "./model";
import { ask } from "./stream";

const MAX_ROWS = 200;

function isUpdating(s: SetItem): boolean {
  return Boolean(s.status.progress && !s.status.progress.updateEndedAt);
}

// The worst first. A set that only passes through a state stays where it is: rows that jump cannot be read.
const SETTLED = 3000;
export class Order {
  private readonly ranks = new Map<string, { rank: number; next: number; since: number }>();

  rank(s: SetItem): number {
    const now = badness(s.status.verdict.state), at = performance.now(), key = setKey(s);
    const r = this.ranks.get(key) ?? { rank: now, next: now, since: at };
    if (now !== r.next) {
      r.next = now;
      r.since = at;
    }
    if (r.next !== r.rank && at - r.since >= SETTLED) r.rank = r.next;
    this.ranks.set(key, r);
    return r.rank;
  }

  sort(sets: Map<string, SetItem>): SetItem[] {
    const all = Array.from(sets.values(), (s) => ({ s, rank: this.rank(s) }));
    const here = new Set(all.map((x) => setKey(x.s)));
    for (const key of this.ranks.keys()) if (!here.has(key)) this.ranks.delete(key);
    all.sort((a, b) => a.rank - b.rank || setKey(a.s).localeCompare(setKey(b.s), "en", { numeric: true }));
    return all.map((x) => x.s);
  }

  isSettled(): boolean {
    return Array.from(this.ranks.values()).every((r) => r.rank === r.next);
  }
}

interface TreeNode {
  kind?: string; name?: string; replica?: number; ready?: number; available?: number; desired?: number;
  minAvailable?: number; state?: string; node?: string; gang?: string; deleting?: boolean; children?: TreeNode[];
}
interface Candidate { domain: string; nodes: number; fit?: number; need?: number }
interface Room {
  role?: string; need?: number; fitInCluster?: number; nodes?: number; nodesThatRefuse?: number; lacks?: string;
  each?: string; level?: string; candidates: Candidate[]; holders: { gang?: string; pod?: string; amount: number }[];
}
interface Told { state: string; object: string; text: string; constraint?: string; room?: Room; unblock?: string[] }

export class SetsView implements View {
  readonly el = h("section", { class: "view sets", "aria-label": "Sets" });
  private at: [string, string] | undefined;
  private shown = "";
  private tree: TreeNode | undefined;
  private told: Told[] = [];
  private problem = "";
  private readonly read: () => void;

  constructor(private readonly app: App) {
    this.read = calmly(1500, () => this.readSet());
  }

  show(words: string[]): void {
    const [ns, name] = words;
    this.at = ns && name ? [ns, name] : undefined;
    if (words.join("/") !== this.shown) {
      this.shown = words.join("/");
      this.tree = undefined;
      this.told = [];
      this.problem = "";
      this.last = "";
    }
    this.update();
  }
  private last = "";
  private readonly order = new Order();
  private timer = 0;

  update(): void {
    if (!this.at) return morph(this.el, this.list());
    const found = findSet(this.app.model, ...this.at);
    morph(this.el, found ? this.one(found[1]) : this.missing());
    const now = found ? JSON.stringify(found[1]) : "";
    if (now && now !== this.last) {
      this.last = now;
      this.read();
    }
  }

  private missing(): Child {
    const key = this.at?.join("/"), why = this.app.model.unsent.get(`set/${key}`);
    return [h("p", {}, link("sets", "‹ All sets")), why ? empty("This set cannot be drawn", `${key}: ${why}.`)
      : empty("There is no such set", `${key} is not here, or not any more.`)];
  }

  // ---- the list ----

  private list(): Child {
    const m = this.app.model, all = this.order.sort(m.sets);
    if (!this.order.isSettled() && !this.timer) this.timer = window.setTimeout(() => { this.timer = 0; this.update(); }, SETTLED);
    if (m.meta?.unreadable.includes("podcliquesets"))
      return empty("No sets to show", "You may not list PodCliqueSets here, or the cluster has none of Grove's kinds.");
    if (all.length === 0 && m.unsent.size === 0)
      return empty("No sets yet", ["Apply one: ", h("code", {}, "grove apply -f FILE"), ", or try a manifest in ", link("whatif", "What if"), "."]);
    const states = new Map<string, number>();
    for (const s of all) states.set(s.status.verdict.state, (states.get(s.status.verdict.state) ?? 0) + 1);
    return [h("h1", {}, plural(all.length, "set"), h("span", { class: "tally" }, [...states].map(([state, n]) => [chip(state), ` ${n} `]))),
      unsent(m, "set"),
      h("ul", { class: "rows" }, all.slice(0, MAX_ROWS).map((s) => this.row(s))),
      all.length > MAX_ROWS && h("p", { class: "dim" }, `and ${all.length - MAX_ROWS} more`)];
  }

  private row(s: SetItem): HTMLElement {
    const st = s.status, tone = toneOf(st.verdict.state), pods = st.pods;
    return h("li", { class: `row ${tone}`, "data-key": setKey(s), "data-set": setKey(s), "data-state": st.verdict.state,
      "data-ready": pods.ready, "data-desired": pods.desired },
      h("a", { class: "row-link", href: `#/sets/${setKey(s)}` },
        h("span", { class: "row-name" }, swatch(st.name, `${st.name}-1`), h("b", {}, st.name), h("span", { class: "dim" }, s.namespace)),
        h("span", { class: "row-state" }, chip(st.verdict.state)),
        h("span", { class: "row-text" }, st.verdict.text),
        h("span", { class: "row-roles" }, st.roles.slice(0, 6).map((r) => role(r)),
          st.roles.length > 6 && h("span", { class: "dim" }, `+${st.roles.length - 6}`)),
        isUpdating(s) && h("span", { class: "row-update" }, updateText(s))));
  }

  // ---- one set ----

  private one(s: SetItem): Child {
    const st = s.status;
    return [h("p", { class: "crumbs" }, link("sets", "‹ All sets")),
      h("header", { class: "set-head" },
        h("h1", {}, swatch(st.name, `${st.name}-1`), st.name, h("span", { class: "dim" }, s.namespace), chip(st.verdict.state)),
        h("p", { class: "verdict", "data-verdict": st.verdict.state }, st.verdict.text),
        h("p", { class: "links" }, link(`fleet/${setKey(s)}`, "Show on the fleet"), link(`update/${setKey(s)}`, "Update"),
          link(`why/pcs/${setKey(s)}`, "What happened"))),
      this.problem && h("p", { class: "bad" }, this.problem),
      this.findings(),
      h("h2", {}, "Roles"),
      h("ul", { class: "roles" }, st.scalingGroups.map((p) => role(p, "group ")), st.roles.map((p) => role(p))),
      h("h2", {}, plural(st.gangs.length + (st.moreGangs ?? 0), "gang"), h("span", { class: "dim" }, " a frame is the minimum that must run together")),
      h("ul", { class: "gangs" }, st.gangs.map((g) => this.gang(s, g))),
      (st.moreGangs ?? 0) > 0 && h("p", { class: "dim" }, `and ${st.moreGangs} more`),
      this.tree && h("details", { class: "tree", "data-key": "tree" }, h("summary", {}, "Hierarchy"), h("ul", {}, this.branch(s.namespace, this.tree)))];
  }

  private gang(s: SetItem, g: Gang): HTMLElement {
    const n = Math.min(Math.max(g.pods, g.minimum), 120), bound = Math.min(g.onNodes, n), ready = Math.min(g.readyPods, bound);
    const cell = (i: number): HTMLElement => h("i", { class: i < ready ? "cell ready" : i < bound ? "cell starting" : "cell ghost" });
    const least = Math.min(g.minimum || n, n);
    return h("li", { class: g.ready ? "gang-box" : "gang-box waits", "data-key": g.name, "data-gang": g.name, "data-pods": g.pods,
      "data-on-nodes": g.onNodes, "data-minimum": g.minimum, "--c": "" },
      h("div", { class: "gang-name" }, swatch(s.status.name, g.name), link(`why/podgang/${s.namespace}/${g.name}`, g.name)),
      h("div", { class: "cells", role: "img", "aria-label": `${g.readyPods} of ${g.pods} pods ready, ${g.onNodes} on nodes, minimum ${g.minimum}` },
        h("span", { class: "least" }, Array.from({ length: least }, (_, i) => cell(i))),
        Array.from({ length: n - least }, (_, i) => cell(least + i))),
      h("div", { class: "dim" }, `${g.readyPods} of ${g.pods} ready · ${g.phase || "waiting"}`,
        g.placementScore !== undefined && ` · placed ${Math.round(g.placementScore * 100)} %`),
      g.waits && h("details", { "data-key": "waits" }, h("summary", {}, "what it waits for"), h("p", {}, g.waits)));
  }

  private findings(): Child {
    if (this.told.length === 0) return null;
    return h("section", { class: "findings", "aria-label": "What stands in the way" }, this.told.map((f, i) =>
      h("article", { class: `finding ${toneOf(f.state)}`, "data-key": `${f.object} ${i}`, "data-finding": f.state },
        h("p", {}, h("span", { "aria-hidden": "true" }, GLYPH[toneOf(f.state)]), " ", h("b", {}, f.object), " ", f.text),
        f.room && this.room(f.room),
        f.unblock && f.unblock.length > 0 && [h("h3", {}, "What would help"), h("ul", {}, f.unblock.map((u) => h("li", {}, u)))])));
  }

  // The nearest places: what fits there as cells, what does not as ghosts.
  private room(r: Room): Child {
    const lacks = r.lacks?.replace("nvidia.com/gpu", "GPU") ?? "room";
    const places = r.candidates.length > 0 ? r.candidates
      : r.need !== undefined ? [{ domain: "the whole cluster", nodes: r.nodes ?? 0, fit: r.fitInCluster, need: r.need }] : [];
    return h("div", { class: "room" },
      h("p", {}, r.need !== undefined && `${plural(r.need, `${r.role ?? ""} pod`)}${r.each ? ` of ${r.each} ${lacks} each` : ""}`,
        r.level && ` in one ${r.level}`, r.nodesThatRefuse ? `; ${r.nodesThatRefuse} of ${r.nodes} nodes do not admit them` : ""),
      h("ul", { class: "places" }, places.map((c) => {
        const need = Math.min(c.need ?? 0, 48), fit = Math.min(c.fit ?? 0, need);
        return h("li", { "data-place": c.domain, "data-fit": c.fit, "data-need": c.need },
          h("b", {}, c.domain), h("span", { class: "dim" }, ` ${plural(c.nodes, "node")}`),
          h("span", { class: "cells", role: "img", "aria-label": `room for ${c.fit ?? 0} of ${c.need ?? 0}` },
            Array.from({ length: need }, (_, i) => h("i", { class: i < fit ? "cell ready" : "cell ghost bad" }))),
          h("span", {}, c.need !== undefined ? `room for ${c.fit ?? 0} of ${c.need}, lacks ${lacks} for ${Math.max(0, c.need - (c.fit ?? 0))}` : "room for its parts, not for all"));
      })),
      r.holders.length > 0 && h("p", {}, `Who holds ${lacks}: `, r.holders.map((x, i) => [i > 0 && ", ", h("b", {}, x.gang ?? x.pod), ` ${x.amount}`])));
  }

  private branch(ns: string, t: TreeNode): HTMLElement {
    const kinds: Record<string, string> = { PodCliqueSet: "pcs", PodCliqueScalingGroup: "pcsg", PodClique: "pclq", Pod: "pod" };
    const kind = kinds[t.kind ?? ""];
    const numbers = t.desired !== undefined ? `${t.ready ?? t.available ?? 0}/${t.desired}` : t.state ?? "";
    return h("li", { "data-key": t.name ?? `replica ${t.replica}` },
      kind ? [h("span", { class: "dim" }, `${kind} `), link(`why/${kind}/${ns}/${t.name}`, t.name)] : `replica ${t.replica}`, " ",
      h("span", { class: toneOf(numbers) === "good" ? "good" : "dim" }, numbers, t.node ? ` on ${t.node}` : "", t.deleting ? " going" : ""),
      t.children && t.children.length > 0 && h("ul", {}, t.children.slice(0, 300).map((c) => this.branch(ns, c))));
  }

  private async readSet(): Promise<void> {
    if (!this.at) return;
    const [namespace, name] = this.at, about = { kind: "pcs", namespace, name }, was = this.shown;
    try {
      const [explained, tree] = await Promise.all([ask<{ findings: Told[] }>("explain", about), ask<{ sets: TreeNode[] }>("tree", about)]);
      if (was !== this.shown) return;
      this.told = explained.document?.findings ?? [];
      this.tree = tree.document?.sets[0];
      this.problem = explained.document ? "" : explained.error;
    } catch (e) {
      this.problem = String(e instanceof Error ? e.message : e);
    }
    if (this.at) this.update();
  }
}

function role(p: Part, what = ""): HTMLElement {
  return h("span", { class: "role", "data-key": what + p.name, "data-role": p.name, "data-ready": p.ready, "data-desired": p.desired },
    h("span", { class: "role-name" }, what, p.name), bar(p), h("span", { class: "role-n" }, `${p.ready}/${p.desired}`));
}

export function updateText(s: SetItem): string {
  const st = s.status, parts = [...st.scalingGroups, ...st.roles];
  const done = parts.reduce((n, r) => n + Math.min(r.updated, r.desired), 0), all = parts.reduce((n, r) => n + r.desired, 0);
  return `${st.paused ? "paused" : "updating"}: ${all > 0 ? Math.floor((100 * done) / all) : 0} % new`;
}
