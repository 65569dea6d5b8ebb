// Why: what happened to an object, in order: decisions, events and conditions.

import { empty, type App, type View } from "./app";
import { h, morph, type Child } from "./dom";
import { ask } from "./stream";

interface Entry { time: string; by: string; object: string; what: string; text: string; warning: boolean }
interface Story { object: string; exists: boolean; missing?: string; journal: Entry[] }

const KINDS: [string, string][] = [["pcs", "set"], ["podgang", "gang"], ["pod", "pod"], ["pclq", "clique"], ["pcsg", "scaling group"]];

export class WhyView implements View {
  readonly el = h("section", { class: "view why", "aria-label": "Why" });
  private kind = "pcs";
  private ns = "";
  private name = "";
  private story: Story | undefined;
  private problem = "";
  private busy = false;

  constructor(private readonly app: App) {}

  show(words: string[]): void {
    const [kind, ns, name] = words;
    if (kind && ns && name && words.join("/") !== `${this.kind}/${this.ns}/${this.name}`) {
      [this.kind, this.ns, this.name] = [kind, ns, name];
      this.story = undefined;
      void this.read();
    }
    this.update();
  }

  update(): void {
    morph(this.el, this.form(), this.busy && !this.story && h("p", { class: "dim" }, "Reading…"),
      this.problem && h("p", { class: "bad", role: "alert" }, this.problem), this.story ? this.tell(this.story) : !this.busy && !this.problem && this.hint());
  }

  private hint(): Child {
    return empty("What happened?", "Name an object, or follow “What happened” from a set, a gang or a pod. Objects that are gone have a story, too.");
  }

  // Names that there are, for the one who types.
  private names(): string[] {
    const m = this.app.model, out = new Set<string>();
    if (this.kind === "pcs") for (const s of m.sets.values()) out.add(`${s.namespace}/${s.status.name}`);
    if (this.kind === "podgang") for (const s of m.sets.values()) for (const g of s.status.gangs) out.add(`${s.namespace}/${g.name}`);
    if (this.kind === "pod") for (const n of m.nodes.values()) for (const p of n.pods) if (out.size < 300) out.add(`${p.namespace}/${p.name}`);
    return [...out].slice(0, 300);
  }

  private form(): HTMLElement {
    return h("form", { class: "pick", onsubmit: (e) => {
      e.preventDefault();
      const data = new FormData(e.target as HTMLFormElement);
      const field = (key: string): string => (data.get(key) as string | null ?? "").trim();
      const [ns, name] = field("name").split("/");
      this.app.go(`why/${field("kind")}/${name ? ns : this.app.model.meta?.namespace || "default"}/${name ?? ns}`);
    } },
      h("select", { name: "kind", "aria-label": "Kind", onchange: (e) => { this.kind = (e.target as HTMLSelectElement).value; this.update(); } },
        KINDS.map(([value, text]) => h("option", { value, selected: value === this.kind }, text))),
      h("input", { name: "name", list: "why-names", placeholder: "namespace/name", "aria-label": "Namespace and name",
        value: this.name ? `${this.ns}/${this.name}` : "", autocomplete: "off", spellcheck: "false" }),
      h("datalist", { id: "why-names" }, this.names().map((n) => h("option", { value: n }))),
      h("button", { type: "submit" }, "Tell"), this.story && h("button", { type: "button", onclick: () => void this.read() }, "Again"));
  }

  private tell(s: Story): Child {
    let last: number | undefined;
    return [h("h1", {}, s.object, !s.exists && h("span", { class: "dim" }, " is gone")),
      s.missing && h("p", { class: "dim" }, s.missing),
      h("ol", { class: "story", "data-entries": s.journal.length }, s.journal.map((e, i) => {
        const at = Date.parse(e.time), gap = last === undefined ? 0 : at - last;
        last = at;
        const kind = e.warning ? "warning" : e.by === "" ? "fact" : /^[A-Z]/.test(e.what) ? "event" : "decision";
        return h("li", { class: kind, "data-key": i, "data-what": e.what },
          gap >= 1000 && h("div", { class: "gap" }, `${gap < 120_000 ? `${(gap / 1000).toFixed(1)} s` : `${Math.round(gap / 60_000)} min`} later`),
          h("time", { datetime: e.time }, clock(e.time)),
          h("div", { class: "entry" }, h("b", {}, e.what), " ", e.object !== s.object && h("span", { class: "dim" }, `${e.object} `),
            h("span", {}, e.text), e.by && h("span", { class: "dim" }, ` ${e.by}`)));
      }))];
  }

  private async read(): Promise<void> {
    const was = `${this.kind}/${this.ns}/${this.name}`;
    this.busy = true;
    this.problem = "";
    this.update();
    try {
      const a = await ask<Story>("why", { kind: this.kind, namespace: this.ns, name: this.name });
      if (was !== `${this.kind}/${this.ns}/${this.name}`) return;
      this.story = a.document;
      this.problem = a.document ? "" : a.error;
    } catch (e) {
      this.problem = e instanceof Error ? e.message : String(e);
    }
    this.busy = false;
    this.update();
  }
}

// The time of day, with as much of the second as is known.
function clock(time: string): string {
  const d = new Date(time), part = /\.(\d+)/.exec(time)?.[1];
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}${part ? `.${part.slice(0, 3).padEnd(3, "0")}` : ""}`;
}
