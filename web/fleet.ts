// Fleet: the nodes, and whose their devices are. What one points at or chooses lights up wherever it is.

import { chip, empty, link, setKey, swatch, unsent, type App, type View } from "./app";
import { FleetCanvas, type Focus, type Target } from "./canvas";
import { h, morph, plural, type Child } from "./dom";
import { badness, type FleetNode, type Pod } from "./model";
import { Order } from "./sets";

function gangFocus(pod: Pod): Focus {
  return pod.gang ? { title: `gang ${pod.gang}`, has: (p) => p.gang === pod.gang && p.namespace === pod.namespace }
    : { title: `pod ${pod.name}`, has: (p) => p.name === pod.name && p.namespace === pod.namespace };
}

function textFocus(text: string): Focus {
  const has = (s: string): boolean => s.includes(text);
  return { title: `“${text}”`, has: (p, n) => has(p.gang) || has(p.set) || has(p.name) || has(n.name) };
}

export class FleetView implements View {
  readonly el = h("section", { class: "view fleet", "aria-label": "Fleet" });
  private readonly canvas: FleetCanvas;
  private readonly top = h("div", { class: "fleet-top" });
  private readonly side = h("aside", { class: "side", "aria-label": "What is chosen" });
  private readonly live = h("p", { class: "sr", "aria-live": "polite" });
  private chosen: Target | undefined;
  private hovered: Target | undefined;
  private focus: Focus | undefined;
  private find = "";
  private readonly order = new Order();

  constructor(private readonly app: App) {
    this.canvas = new FleetCanvas(app.model,
      "Nodes and their devices. Arrow keys move, Enter chooses a gang, plus and minus zoom.");
    this.canvas.onHover = (t) => this.hover(t);
    this.canvas.onSelect = (t) => this.choose(t);
    this.el.append(h("div", { class: "fleet-main" }, this.top, this.canvas.el), this.side, this.live);
    this.el.addEventListener("keydown", (e) => {
      if (e.key === "Escape") this.choose(undefined);
    });
  }

  show(words: string[]): void {
    const [ns, set] = words;
    if (ns && set) {
      this.focus = { title: `set ${set}`, has: (p) => p.set === set && p.namespace === ns };
      this.chosen = undefined;
    }
    this.canvas.setFocus(this.focus, undefined);
    this.update();
  }

  retheme(): void {
    this.canvas.retheme();
    this.update();
  }

  private hover(t: Target | undefined): void {
    const same = t?.node.name === this.hovered?.node.name && t?.pod?.name === this.hovered?.pod?.name;
    if (same) return;
    this.hovered = t;
    this.canvas.setFocus(this.focus, t?.pod ? gangFocus(t.pod) : undefined);
    if (t && document.activeElement === this.canvas.el) this.live.textContent = this.words(t.node);
    this.drawSide();
  }

  private choose(t: Target | undefined): void {
    this.chosen = t;
    this.hovered = undefined;
    this.focus = t?.pod ? gangFocus(t.pod) : undefined;
    this.canvas.setFocus(this.focus, undefined);
    this.update();
  }

  private words(n: FleetNode): string {
    const gangs = [...new Set(n.pods.map((p) => p.gang))].join(", ");
    return `${n.name}, ${n.rack}: ${n.used} of ${n.devices} devices used${gangs ? `, by ${gangs}` : ""}` +
      `${n.cordoned ? ", cordoned" : ""}${n.ready ? "" : ", not ready"}`;
  }

  update(): void {
    const m = this.app.model;
    const dirty = m.dirtyNodes, moved = m.nodesMoved;
    m.dirtyNodes = new Set();
    m.nodesMoved = false;
    this.canvas.update(dirty, moved);
    this.drawTop();
    this.drawSide();
  }

  private drawTop(): void {
    const { devices, used, reserved, away } = this.app.model.totals;
    const top = [...this.app.model.devicesBySet.values()].sort((a, b) => b.n - a.n || a.set.localeCompare(b.set));
    morph(this.top,
      h("div", { class: "facts", "data-nodes": this.app.model.nodes.size, "data-devices": devices, "data-used": used },
        fact(this.app.model.nodes.size, "nodes"), fact(devices, "devices"), fact(used, "used"),
        fact(Math.max(0, devices - used - reserved), "free"), fact(reserved, "reserved"),
        away > 0 && fact(away, "not open", true)),
      h("div", { class: "tools" },
        h("input", { type: "search", placeholder: "Find a node, gang or set", "aria-label": "Find a node, gang or set",
          "data-key": "find", oninput: (e) => {
            this.find = (e.target as HTMLInputElement).value.trim();
            this.chosen = undefined;
            this.focus = this.find ? textFocus(this.find) : undefined;
            this.canvas.setFocus(this.focus, undefined);
            this.drawSide();
          } }),
        h("button", { type: "button", "aria-label": "Smaller", title: "Smaller (-)", onclick: () => this.canvas.zoomBy(-1) }, "−"),
        h("button", { type: "button", "aria-label": "All of it", title: "All of it (0)", onclick: () => this.canvas.zoomBy(0) }, "fit"),
        h("button", { type: "button", "aria-label": "Larger", title: "Larger (+)", onclick: () => this.canvas.zoomBy(1) }, "+")),
      h("div", { class: "legend" },
        top.slice(0, 10).map((s) => h("button", { type: "button", class: "key", "data-key": `${s.ns}/${s.set}`,
          title: `${s.ns}/${s.set}: ${plural(s.n, "device")}`,
          onclick: () => this.app.go(`fleet/${s.ns}/${s.set}`) }, swatch(s.set, `${s.set}-1`), s.set, h("b", {}, s.n))),
        top.length > 10 && h("span", { class: "dim" }, `and ${top.length - 10} more`),
        h("span", { class: "key still" }, h("i", { class: "cell free" }), "free"),
        h("span", { class: "key still" }, h("i", { class: "cell reserved" }), "reserved"),
        h("span", { class: "key still" }, h("i", { class: "cell starting" }), "starting"),
        h("span", { class: "key still" }, h("i", { class: "cell cordoned" }), "cordoned"),
        h("span", { class: "key still" }, h("i", { class: "cell notready" }), "not ready")));
  }

  private drawSide(): void {
    const t = this.hovered ?? this.chosen;
    this.side.classList.toggle("some", Boolean(t ?? this.focus));
    if (t?.pod) morph(this.side, ...this.podSide(t.node, t.pod));
    else if (t) morph(this.side, ...this.nodeSide(t.node));
    else if (this.focus) morph(this.side, ...this.focusSide(this.focus));
    else if (this.app.model.meta?.unreadable.includes("nodes"))
      morph(this.side, empty("No nodes to show", "You may not list nodes of this cluster."));
    else morph(this.side, ...this.waiting());
  }

  // Nothing is chosen: what waits, the worst first.
  private waiting(): Child[] {
    const some = this.order.sort(this.app.model.sets).filter((s) => this.order.rank(s) < badness("starting"));
    return [h("p", { class: "hint" }, "Point at a cell to see its gang wherever it is. Choose it to keep it."),
      unsent(this.app.model, "node"),
      some.length > 0 && [h("h2", {}, plural(some.length, "set"), some.length === 1 ? " is" : " are", " not as wanted"),
        h("ul", { class: "waiting" }, some.slice(0, 8).map((s) => h("li", { "data-key": setKey(s) },
          chip(s.status.verdict.state), " ", link(`sets/${setKey(s)}`, s.status.name), h("div", { class: "dim" }, s.status.verdict.text)))),
        some.length > 8 && h("p", {}, link("sets", `and ${some.length - 8} more`))]];
  }

  private nodeSide(n: FleetNode): HTMLElement[] {
    return [h("h2", {}, n.name),
      h("p", { class: "dim" }, [n.zone, n.block, n.rack].filter(Boolean).join(" › ") || "no topology labels"),
      h("p", {}, n.devices > 0 ? `${n.used} of ${plural(n.devices, "device")} used (${n.resource})` : "no devices",
        n.reserved > 0 && `, ${n.reserved} reserved`),
      ...(n.ready ? [] : [h("p", { class: "bad" }, "▲ The node is not ready.")]),
      ...(n.cordoned ? [h("p", { class: "wait" }, "The node is cordoned: it takes no new pods.")] : []),
      h("ul", { class: "pods" }, n.pods.map((p) => this.podLine(p, `${p.role || p.name}`))),
      ...(n.others > 0 ? [h("p", { class: "dim" }, `and ${plural(n.others, "pod")} of others`)] : [])];
  }

  private podLine(p: Pod, text: string): HTMLElement {
    return h("li", { "data-key": `${p.namespace}/${p.name}` }, swatch(p.set, p.gang),
      link(`why/pod/${p.namespace}/${p.name}`, text), " ",
      h("span", { class: "dim" }, p.gang ? `${p.gang} · ` : "", p.state, p.devices > 0 ? ` · ${p.devices}` : ""));
  }

  // The gang of a pod, and where it is.
  private podSide(n: FleetNode, pod: Pod): HTMLElement[] {
    const f = gangFocus(pod);
    const all: { node: FleetNode; pod: Pod }[] = [];
    for (const node of this.app.model.nodes.values())
      for (const p of node.pods) if (f.has(p, node)) all.push({ node, pod: p });
    const nodes = new Set(all.map((x) => x.node.name)), racks = new Set(all.map((x) => x.node.rack));
    const devices = all.reduce((sum, x) => sum + x.pod.devices, 0);
    return [h("h2", { class: "gang" }, swatch(pod.set, pod.gang), pod.gang || pod.name),
      h("p", { class: "dim" }, pod.gang ? "gang of " : "pod in ", pod.set ? link(`sets/${pod.namespace}/${pod.set}`, `${pod.namespace}/${pod.set}`) : pod.namespace),
      h("p", { "data-gang": pod.gang, "data-pods": all.length }, `${plural(all.length, "pod")} on ${plural(nodes.size, "node")} in ${plural(racks.size, "rack")}, ${plural(devices, "device")}`),
      h("p", {}, h("b", {}, pod.role || "pod"), ` ${pod.state} on ${n.name}`),
      h("ul", { class: "pods" }, all.slice(0, 60).map((x) => this.podLine(x.pod, `${x.pod.role} on ${x.node.name}`))),
      ...(all.length > 60 ? [h("p", { class: "dim" }, `and ${all.length - 60} more`)] : []),
      ...(pod.gang ? [h("p", {}, link(`why/podgang/${pod.namespace}/${pod.gang}`, "What happened to it"))] : [])];
  }

  private focusSide(f: Focus): HTMLElement[] {
    let pods = 0, devices = 0;
    const nodes = new Set<string>(), gangs = new Set<string>();
    for (const node of this.app.model.nodes.values()) for (const p of node.pods) {
      if (!f.has(p, node)) continue;
      pods++;
      devices += p.devices;
      nodes.add(node.name);
      if (p.gang) gangs.add(p.gang);
    }
    const set = [...this.app.model.sets.values()].find((s) => f.title === `set ${s.status.name}`);
    return [h("h2", {}, f.title),
      h("p", { "data-pods": pods }, `${plural(gangs.size, "gang")}, ${plural(pods, "pod")} on ${plural(nodes.size, "node")}, ${plural(devices, "device")}`),
      ...(set ? [h("p", {}, link(`sets/${setKey(set)}`, "Open the set"))] : []),
      h("p", {}, h("button", { type: "button", onclick: () => this.choose(undefined) }, "Show all"))];
  }
}

function fact(n: number, what: string, bad = false): HTMLElement {
  return h("span", { class: bad ? "fact bad" : "fact", "data-key": what }, h("b", {}, n.toLocaleString("en")), " ", what);
}
