// What if: a manifest is tried out on a twin of the cluster, in a process of its own. Nothing is submitted.

import { chip, type App, type View } from "./app";
import { FleetCanvas } from "./canvas";
import { h, morph, plural, type Child } from "./dom";
import { ask, type Answer } from "./stream";
import { stepList, type Plan } from "./update";

interface FitGang { gang: string; fits: boolean; pods: number; waiting: number; why?: string; unblock?: string[];
  where?: { node: string; pods: number; devices?: number }[] }
interface Fit { fits: boolean; verdict: { state: string; text: string }; sets: { name: string; gangs: FitGang[]; why?: string }[] }

const EXAMPLE = `apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: what-if}
spec:
  replicas: 1
  template:
    cliques:
    - name: engine
      spec:
        roleName: engine
        replicas: 4
        podSpec:
          containers:
          - {name: engine, image: "engine:1", resources: {limits: {nvidia.com/gpu: 4}}}
`;

export class WhatIfView implements View {
  readonly el = h("section", { class: "view whatif", "aria-label": "What if" });
  private readonly text = h("textarea", { id: "manifest", spellcheck: "false", placeholder: "Paste a manifest (YAML or JSON)", autocomplete: "off" });
  private readonly canvas: FleetCanvas;
  private readonly out = h("div", { class: "answer", "aria-live": "polite" });
  private readonly ns = h("input", { id: "whatif-ns", value: "default", autocomplete: "off", spellcheck: "false" });
  private fit: Answer<Fit> | undefined;
  private plan: Answer<Plan> | undefined;
  private busy = false;
  private problem = "";
  private seen = -1;

  constructor(private readonly app: App) {
    this.canvas = new FleetCanvas(app.model, "Where the pods would go");
    this.el.append(h("div", { class: "whatif-in" }, h("label", { for: "manifest" }, "Manifest"), this.text,
      h("div", { class: "actions" }, h("label", { for: "whatif-ns" }, "Namespace"), this.ns,
        h("button", { type: "button", class: "main", "data-action": "try", onclick: () => void this.try() }, "Try it"),
        h("button", { type: "button", onclick: () => { this.text.value = EXAMPLE; } }, "Example")),
      this.out), this.canvas.el);
  }

  show(): void {
    this.canvas.relayout();
    this.update();
  }

  retheme(): void {
    this.canvas.retheme();
  }

  update(): void {
    // The model's list of what changed is the fleet view's: here all of it is drawn again, now and then.
    if (this.seen !== this.app.model.nodesVersion) this.canvas.update([], true);
    this.seen = this.app.model.nodesVersion;
    morph(this.out, this.busy && h("p", { class: "dim" }, "Trying it on a twin of the cluster…"),
      this.problem && h("p", { class: "bad", role: "alert" }, this.problem), this.result());
  }

  private result(): Child {
    const f = this.fit?.document, p = this.plan?.document;
    return [this.fit && !f && h("p", { class: "bad", role: "alert" }, this.fit.error),
      f && h("div", { "data-fits": f.fits }, h("p", { class: "verdict" }, chip(f.verdict.state), " ", f.verdict.text),
        f.sets.map((s) => h("ul", { class: "fit" }, s.why && h("li", { class: "bad" }, s.why), s.gangs.slice(0, 100).map((g) =>
          h("li", { "data-key": g.gang, "data-gang": g.gang, "data-fits": g.fits }, h("b", {}, g.gang), " ",
            g.fits ? `${plural(g.pods, "pod")} on ${(g.where ?? []).map((w) => `${w.node}${w.pods > 1 ? ` ×${w.pods}` : ""}`).slice(0, 12).join(", ")}`
              : h("span", { class: "bad" }, `▲ ${g.why ?? `${g.waiting} of ${g.pods} pods would wait`}`),
            (g.unblock ?? []).length > 0 && h("ul", {}, g.unblock?.map((u) => h("li", {}, u)))))))),
      p && p.steps.length > 0 && [h("h2", {}, "Step by step ", h("span", { class: "dim" }, p.text)), stepList(p)]];
  }

  private async try(): Promise<void> {
    const about = { namespace: this.ns.value.trim() || "default", manifest: this.text.value };
    if (this.busy) return;
    this.busy = true;
    this.problem = "";
    this.fit = this.plan = undefined;
    this.canvas.setGhosts(new Map());
    this.update();
    try {
      this.fit = await ask<Fit>("fit", about);
      this.ghosts();
      this.update();
      this.plan = await ask<Plan>("plan", about);
    } catch (e) {
      this.problem = e instanceof Error ? e.message : String(e);
    }
    this.busy = false;
    this.update();
  }

  private ghosts(): void {
    const by = new Map<string, number>();
    for (const s of this.fit?.document?.sets ?? []) for (const g of s.gangs) for (const w of g.where ?? [])
      by.set(w.node, (by.get(w.node) ?? 0) + (w.devices ?? w.pods));
    this.canvas.setGhosts(by);
  }
}
