// What views share: the model, where one is, and small pieces that several of them draw.

import { gangColour } from "./colour";
import { h, type Child } from "./dom";
import { GLYPH, toneOf, type Model, type Part, type SetItem } from "./model";

export interface App {
  model: Model;
  go: (path: string) => void;
}

export interface View {
  readonly el: HTMLElement;
  // The words of the address behind the view's own; called when one comes here, or goes on within.
  show: (words: string[]) => void;
  // The model changed.
  update: () => void;
  retheme?: () => void;
}

export function chip(state: string): HTMLElement {
  const tone = toneOf(state);
  return h("span", { class: `chip ${tone}` }, h("span", { "aria-hidden": "true" }, GLYPH[tone]), " ", state);
}

// Ready of wanted, the minimum as a mark.
export function bar(p: Part): HTMLElement {
  const share = (n: number): string => `${p.desired > 0 ? Math.min(100, (100 * n) / p.desired) : 0}%`;
  return h("span", { class: "meter", role: "img",
    "aria-label": `${p.ready} of ${p.desired} ready, at least ${p.minAvailable}` },
    h("span", { class: p.ready < p.minAvailable ? "fill bad" : p.ready < p.desired ? "fill wait" : "fill", "--w": share(p.ready) }),
    p.minAvailable > 0 && p.minAvailable < p.desired && h("span", { class: "floor", "--w": share(p.minAvailable) }));
}

export function swatch(set: string, gang: string): HTMLElement {
  return h("span", { class: "swatch", "aria-hidden": "true", "--c": gangColour(set, gang) });
}

export function setKey(s: SetItem): string {
  return `${s.namespace}/${s.status.name}`;
}

// Sets by the name that people say; items are named by a label, which is shorter for long names.
export function findSet(model: Model, ns: string, name: string): [string, SetItem] | undefined {
  for (const [key, s] of model.sets) if (s.namespace === ns && s.status.name === name) return [key, s];
  return undefined;
}

export function link(path: string, ...children: Child[]): HTMLElement {
  return h("a", { href: `#/${path}` }, ...children);
}

export function empty(title: string, text: Child): HTMLElement {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text));
}

// What is there and cannot be drawn, because the server did not send it.
const MAX_UNSENT = 5;
export function unsent(model: Model, kind: string): Child[] {
  const all = [...model.unsent].filter(([name]) => name.startsWith(`${kind}/`));
  return [...all.slice(0, MAX_UNSENT).map(([name, why]) => h("p", { class: "bad", "data-unsent": name }, `▲ ${name}: ${why}`)),
    all.length > MAX_UNSENT && h("p", { class: "bad" }, `and ${all.length - MAX_UNSENT} more`)];
}

// Not more often than that, and at the end once more.
export function calmly(pause: number, fn: () => Promise<void>): () => void {
  let busy = false, again = false;
  const run = (): void => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    void fn().finally(() => setTimeout(() => {
      busy = false;
      if (again) {
        again = false;
        run();
      }
    }, pause));
  };
  return run;
}
