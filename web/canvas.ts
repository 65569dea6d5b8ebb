// The fleet on a canvas. Two layers: the nodes, of which only what changed is drawn again, and above it what
// is pointed at or chosen: everything else is dimmed there. Large fleets are drawn a few milliseconds' worth
// per frame, so that the page stays quick.

import { cssVar, gangColour } from "./colour";
import { h } from "./dom";
import { cellsOf, fit, grow, arrange, CELLS, type Box, type Layout, type Place } from "./layout";
import type { FleetNode, Model, Pod } from "./model";

const FRAME_BUDGET = 6; // ms
const LAYOUT_PAUSE = 500;

export interface Target { node: FleetNode; pod?: Pod }
export interface Focus { title: string; has: (pod: Pod, node: FleetNode) => boolean }
// Pods that would be put somewhere, by node.
export type Ghosts = Map<string, number>;

const podKey = (p: Pod): string => `${p.namespace}/${p.name}`;

interface Theme { text: string; dim: string; line: string; free: string; card: string; box: string[];
  bad: string; accent: string; back: string }

function theme(): Theme {
  return { text: cssVar("--text"), dim: cssVar("--dim"), line: cssVar("--line"), free: cssVar("--free"),
    card: cssVar("--card"), box: [cssVar("--box0"), cssVar("--box1"), cssVar("--box2")], bad: cssVar("--bad"),
    accent: cssVar("--accent"), back: cssVar("--back") };
}

// Which pod has which cell; a pod keeps its cells while it is there.
class Slots {
  private readonly byNode = new Map<string, (string | undefined)[]>();

  of(node: FleetNode): (Pod | undefined)[] {
    const n = cellsOf(node), old = this.byNode.get(node.name) ?? [];
    const pods = new Map<string, { pod: Pod; left: number }>();
    for (const p of node.pods) {
      const cells = node.devices > 0 ? p.devices : 1;
      if (cells > 0) pods.set(podKey(p), { pod: p, left: cells });
    }
    const cells = Array.from({ length: n }, (_, i) => {
      const kept = old[i] === undefined ? undefined : pods.get(old[i]);
      if (!kept || kept.left <= 0) return undefined;
      kept.left--;
      return kept.pod;
    });
    for (const p of pods.values()) {
      for (let i = 0; i < n && p.left > 0; i++) {
        if (cells[i]) continue;
        cells[i] = p.pod;
        p.left--;
      }
    }
    this.byNode.set(node.name, cells.map((p) => p && podKey(p)));
    return cells;
  }

  keep(names: Map<string, unknown>): void {
    for (const name of this.byNode.keys()) if (!names.has(name)) this.byNode.delete(name);
  }
}

export type Look = "ready" | "starting" | "bad" | "going";
export function lookOf(state: string): Look {
  if (state === "Ready" || state === "Succeeded") return "ready";
  if (/fail|crash|error|back/i.test(state)) return "bad";
  return state === "Terminating" || state === "Deleting" ? "going" : "starting";
}

export class FleetCanvas {
  readonly el: HTMLElement;
  private readonly base = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas", { "aria-hidden": "true" });
  private readonly sizer = h("div", { class: "fc-size" });
  private readonly slots = new Slots();
  private layout: Layout | undefined;
  private theme: Theme = theme();
  private queue: Place[] = []; // to be drawn
  private readonly queued = new Set<Place>(); // the same, to look up
  private needsLayout = true;
  private frame = 0;
  private focus: Focus | undefined;
  private hover: Focus | undefined;
  private ghosts: Ghosts = new Map();
  private at: string | undefined; // node that the keyboard is at
  private zoom = 0; // steps from what fits
  // For those who measure (bench/page): milliseconds of script and drawing.
  readonly spent = { frames: 0, total: 0, worst: 0 };
  onHover: (t: Target | undefined) => void = () => undefined;
  onSelect: (t: Target | undefined) => void = () => undefined;

  constructor(private readonly model: Model, label: string) {
    this.el = h("div", { class: "fc", tabindex: "0", role: "application", "aria-roledescription": "map of nodes",
      "aria-label": label, "data-kept": "" },
      h("div", { class: "fc-stick" }, this.base, this.over), this.sizer);
    Object.assign(this.el, { spent: this.spent });
    new ResizeObserver(() => this.relayout()).observe(this.el);
    this.el.addEventListener("scroll", () => this.redraw(), { passive: true });
    this.el.addEventListener("pointermove", (e) => this.point(e));
    this.el.addEventListener("pointerleave", () => this.onHover(undefined));
    this.el.addEventListener("click", (e) => this.onSelect(this.targetAt(e)));
    this.el.addEventListener("keydown", (e) => this.key(e));
  }

  private schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  retheme(): void {
    this.theme = theme();
    this.redraw();
  }

  relayout(): void {
    this.needsLayout = true;
    this.schedule();
  }

  // Nodes that come one by one are put into place together: a large fleet takes a few frames to draw.
  private relayoutSoon(): void {
    if (this.later) return;
    this.later = window.setTimeout(() => {
      this.later = 0;
      this.relayout();
    }, this.layout ? LAYOUT_PAUSE : 0);
  }
  private later = 0;

  zoomBy(steps: number): void {
    this.zoom = steps === 0 ? 0 : Math.max(-6, Math.min(8, this.zoom + steps));
    this.relayout();
  }

  setFocus(f: Focus | undefined, hover: Focus | undefined): void {
    this.focus = f;
    this.hover = hover;
    this.schedule();
    this.overDirty = true;
  }
  private overDirty = true;

  setGhosts(g: Ghosts): void {
    this.ghosts = g;
    this.tell();
    this.overDirty = true;
    this.schedule();
  }

  // The model changed: these nodes, or where they stand.
  update(dirty: Iterable<string>, moved: boolean): void {
    if (moved || !this.layout) this.relayoutSoon();
    if (!this.layout) return;
    for (const name of dirty) {
      const place = this.layout.byName.get(name), node = this.model.nodes.get(name);
      if (!place || !node) continue;
      place.node = node;
      if (!this.queued.has(place)) this.enqueue(place);
    }
    this.overDirty = true;
    this.tell();
    this.schedule();
  }

  private makeLayout(): void {
    const w = this.el.clientWidth, hgt = this.el.clientHeight;
    if (w === 0 || hgt === 0) return;
    const root = grow(this.model.nodes.values());
    let layout = fit(root, w - 2, hgt - 2);
    if (this.zoom) {
      const i = CELLS.indexOf(layout.size.cell) - this.zoom;
      layout = arrange(root, w - 2, CELLS[Math.max(0, Math.min(CELLS.length - 1, i))]);
    }
    this.layout = layout;
    this.needsLayout = false;
    this.slots.keep(this.model.nodes);
    this.sizer.style.width = `${layout.width}px`;
    this.sizer.style.height = `${layout.height}px`;
    const ratio = devicePixelRatio;
    for (const c of [this.base, this.over]) {
      const cw = Math.round(w * ratio), ch = Math.round(hgt * ratio);
      if (c.width !== cw || c.height !== ch) {
        c.width = cw;
        c.height = ch;
        c.style.width = `${w}px`;
        c.style.height = `${hgt}px`;
      }
    }
    this.tell();
    this.redraw();
  }

  // What is drawn, for those who cannot see it and for tests.
  private tell(): void {
    const { devices, used, reserved, away } = this.model.totals;
    Object.assign(this.el.dataset, { nodes: String(this.layout?.places.length ?? 0), devices: String(devices),
      used: String(used), reserved: String(reserved), away: String(away),
      cell: String(this.layout?.size.cell ?? 0), ghosts: String(this.ghosts.size) });
  }

  redraw(): void {
    if (!this.layout) return this.schedule();
    const g = this.context(this.base);
    g.clearRect(0, 0, this.base.width, this.base.height);
    const top = this.el.scrollTop, bottom = top + this.el.clientHeight;
    for (const b of this.layout.boxes) if (b.y < bottom && b.y + b.h > top) this.drawBox(g, b);
    this.queue = [];
    this.queued.clear();
    for (const p of this.layout.places) if (p.y < bottom && p.y + p.h > top) this.enqueue(p);
    this.overDirty = true;
    this.schedule();
  }

  private enqueue(p: Place): void {
    this.queue.push(p);
    this.queued.add(p);
  }

  private context(c: HTMLCanvasElement): CanvasRenderingContext2D {
    const g = c.getContext("2d") as CanvasRenderingContext2D, ratio = devicePixelRatio;
    g.setTransform(ratio, 0, 0, ratio, -this.el.scrollLeft * ratio, -this.el.scrollTop * ratio);
    return g;
  }

  private draw(): void {
    const begun = performance.now();
    this.frame = 0;
    if (this.needsLayout) this.makeLayout();
    if (!this.layout) return;
    const g = this.context(this.base);
    let n = 0;
    while (n < this.queue.length && performance.now() - begun < FRAME_BUDGET) {
      const upTo = Math.min(n + 50, this.queue.length);
      for (; n < upTo; n++) {
        this.queued.delete(this.queue[n]);
        this.drawNode(g, this.queue[n]);
      }
    }
    this.queue = n < this.queue.length ? this.queue.slice(n) : [];
    if (this.overDirty) this.drawOver();
    const took = performance.now() - begun;
    this.spent.frames++;
    this.spent.total += took;
    this.spent.worst = Math.max(this.spent.worst, took);
    if (this.queue.length) this.schedule();
  }

  private drawBox(g: CanvasRenderingContext2D, b: Box): void {
    const s = this.layout!.size;
    g.fillStyle = this.theme.box[b.depth];
    g.beginPath();
    g.roundRect(b.x, b.y, b.w, b.h, s.labels[0] ? [10, 8, 7][b.depth] : 1);
    g.fill();
    if (!b.label) return;
    g.fillStyle = b.depth === 2 ? this.theme.dim : this.theme.text;
    g.font = `${b.depth === 0 ? 600 : 500} ${(b.depth === 0 ? 13 : 12) * s.scale}px ${FONT}`;
    g.textBaseline = "middle";
    g.fillText(clip(g, b.label, b.w - 2 * s.between), b.x + s.between + 2, b.y + s.between / 2 + s.labels[b.depth] / 2 + 1);
  }

  private cellRect(p: Place, i: number): [number, number] {
    const s = this.layout!.size, step = s.cell + s.gap;
    return [p.x + s.pad + (i % p.cols) * step, p.y + s.pad + s.head + Math.floor(i / p.cols) * step];
  }

  private drawNode(g: CanvasRenderingContext2D, p: Place): void {
    const s = this.layout!.size, n = p.node, t = this.theme;
    if (s.cell < 5) return this.drawTiny(g, p);
    const cells = this.slots.of(n);
    const radius = s.cell >= 12 ? 6 : s.cell >= 8 ? 4 : s.cell >= 5 ? 2 : 0;
    g.fillStyle = t.box[2];
    g.fillRect(p.x - 1, p.y - 1, p.w + 2, p.h + 2);
    g.fillStyle = t.card;
    g.beginPath();
    g.roundRect(p.x, p.y, p.w, p.h, radius);
    g.fill();
    if (n.cordoned || !n.ready) this.drawAway(g, p, radius);
    if (s.head) this.drawHead(g, p);
    let reserved = n.reserved;
    for (let i = 0; i < cells.length; i++) {
      const pod = cells[i];
      if (pod) {
        this.drawPodCell(g, p, i, pod);
      } else {
        this.drawFree(g, p, i, reserved > 0);
        reserved--;
      }
    }
  }

  // Far away a node is a tile: what is free is its ground, and cells of one pod run together.
  private drawTiny(g: CanvasRenderingContext2D, p: Place): void {
    const s = this.layout!.size, t = this.theme, cells = this.slots.of(p.node);
    g.fillStyle = t.box[2];
    g.fillRect(p.x, p.y, p.w, p.h);
    g.fillStyle = t.free;
    g.fillRect(p.x, p.y, p.w, p.h);
    for (let i = 0; i < cells.length; i++) {
      const pod = cells[i];
      if (!pod) continue;
      const [x, y] = this.cellRect(p, i), runs = cells[i + 1] === pod && (i + 1) % p.cols !== 0;
      const starts = lookOf(pod.state) === "starting" || lookOf(pod.state) === "going";
      g.fillStyle = gangColour(pod.set, pod.gang);
      g.fillRect(x, starts ? y + Math.ceil(s.cell / 2) : y, s.cell + (runs ? s.gap : 0), starts ? Math.floor(s.cell / 2) : s.cell);
    }
    if (p.node.ready && !p.node.cordoned) return;
    g.strokeStyle = p.node.ready ? t.text : t.bad;
    g.lineWidth = 1;
    g.strokeRect(p.x + 0.5, p.y + 0.5, p.w - 1, p.h - 1);
    g.beginPath();
    g.moveTo(p.x, p.y + p.h);
    g.lineTo(p.x + p.w, p.y);
    g.stroke();
  }

  private drawHead(g: CanvasRenderingContext2D, p: Place): void {
    const s = this.layout!.size, n = p.node, t = this.theme;
    // Pods without a device: small dots at the right.
    const small = n.devices > 0 ? n.pods.filter((x) => x.devices === 0) : [];
    const dots = Math.min(small.length, 6), word = !n.ready ? "not ready" : n.cordoned ? "cordoned" : "";
    small.slice(0, dots).forEach((pod, i) => {
      g.fillStyle = gangColour(pod.set, pod.gang);
      g.beginPath();
      g.arc(p.x + p.w - s.pad - (4 + i * 9) * s.scale, p.y + s.head / 2 + 4 * s.scale, 3 * s.scale, 0, 7);
      g.fill();
    });
    g.textBaseline = "middle";
    g.font = `${11 * s.scale}px ${FONT}`;
    g.fillStyle = !n.ready ? t.bad : word ? t.text : t.dim;
    const room = p.w - 2 * s.pad - dots * 9 * s.scale;
    g.fillText(clip(g, word && g.measureText(`${n.name} ${word}`).width > room ? word : word ? `${n.name} ${word}` : n.name, room),
      p.x + s.pad, p.y + s.head / 2 + 4 * s.scale);
  }

  private drawAway(g: CanvasRenderingContext2D, p: Place, radius: number): void {
    const t = this.theme;
    g.save();
    g.beginPath();
    g.roundRect(p.x, p.y, p.w, p.h, radius);
    g.clip();
    g.strokeStyle = p.node.ready ? t.dim : t.bad;
    g.globalAlpha = 0.35;
    g.lineWidth = 1;
    const step = this.layout!.size.cell >= 8 ? 6 : 3;
    g.beginPath();
    for (let x = -p.h; x < p.w; x += step) {
      g.moveTo(p.x + x, p.y + p.h);
      g.lineTo(p.x + x + p.h, p.y);
    }
    g.stroke();
    g.restore();
    if (p.node.ready) return;
    g.strokeStyle = t.bad;
    g.setLineDash([4, 3]);
    g.lineWidth = this.layout!.size.cell >= 8 ? 1.5 : 1;
    g.beginPath();
    g.roundRect(p.x + 0.75, p.y + 0.75, p.w - 1.5, p.h - 1.5, radius);
    g.stroke();
    g.setLineDash([]);
  }

  private drawFree(g: CanvasRenderingContext2D, p: Place, i: number, reserved: boolean): void {
    const [x, y] = this.cellRect(p, i), c = this.layout!.size.cell, t = this.theme;
    g.fillStyle = t.free;
    if (c < 8) {
      g.fillRect(x, y, c, c);
    } else {
      g.beginPath();
      g.roundRect(x, y, c, c, 3);
      g.fill();
    }
    if (!reserved) return;
    g.strokeStyle = t.text;
    g.lineWidth = 1;
    g.beginPath();
    if (c >= 8) g.rect(x + 0.5, y + 0.5, c - 1, c - 1);
    g.moveTo(x, y + c);
    g.lineTo(x + c, y);
    g.stroke();
  }

  private drawPodCell(g: CanvasRenderingContext2D, p: Place, i: number, pod: Pod): void {
    const [x, y] = this.cellRect(p, i), c = this.layout!.size.cell, look = lookOf(pod.state);
    const colour = gangColour(pod.set, pod.gang);
    g.fillStyle = look === "ready" || look === "bad" ? colour : this.theme.free;
    if (c < 8) {
      g.fillRect(x, y, c, c);
      g.fillStyle = colour;
      if (look === "starting" || look === "going") g.fillRect(x, y + Math.ceil(c / 2), c, Math.floor(c / 2));
      return;
    }
    g.beginPath();
    g.roundRect(x, y, c, c, 3);
    g.fill();
    if (look === "ready") return;
    g.lineWidth = 1.5;
    g.strokeStyle = colour;
    if (look === "bad") {
      g.strokeStyle = this.theme.card;
      g.beginPath();
      g.moveTo(x + 3, y + 3);
      g.lineTo(x + c - 3, y + c - 3);
      g.moveTo(x + c - 3, y + 3);
      g.lineTo(x + 3, y + c - 3);
      g.stroke();
      return;
    }
    g.beginPath();
    g.roundRect(x + 0.75, y + 0.75, c - 1.5, c - 1.5, 3);
    g.stroke();
    if (look === "starting") {
      g.fillStyle = colour;
      g.fillRect(x + 3, y + c / 2, c - 6, c / 2 - 3);
    }
  }

  // Dims all but what is chosen, and draws what would be.
  private drawOver(): void {
    this.overDirty = false;
    const g = this.context(this.over), w = this.el.clientWidth, hgt = this.el.clientHeight;
    const left = this.el.scrollLeft, top = this.el.scrollTop;
    g.clearRect(left, top, w, hgt);
    const focus = this.hover ?? this.focus;
    let lit = 0;
    if (focus) {
      g.globalAlpha = 0.72;
      g.fillStyle = this.theme.back;
      g.fillRect(left, top, w, hgt);
      g.globalAlpha = 1;
      for (const p of this.layout!.places) lit += this.light(g, p, focus);
    }
    for (const [name, count] of this.ghosts) this.drawGhost(g, name, count);
    if (this.at !== undefined && document.activeElement === this.el) this.drawCursor(g, this.at);
    this.el.dataset.lit = String(lit);
  }

  private light(g: CanvasRenderingContext2D, p: Place, f: Focus): number {
    if (!p.node.pods.some((pod) => f.has(pod, p.node))) return 0;
    const s = this.layout!.size, cells = this.slots.of(p.node);
    let lit = 0;
    cells.forEach((pod, i) => {
      if (!pod || !f.has(pod, p.node)) return;
      const [x, y] = this.cellRect(p, i);
      g.clearRect(x - 1, y - 1, s.cell + 2, s.cell + 2);
      lit++;
    });
    if (s.head) g.clearRect(p.x, p.y, p.w, s.head + 3);
    g.strokeStyle = this.theme.accent;
    g.lineWidth = s.cell >= 8 ? 2 : 1;
    g.strokeRect(p.x - 1, p.y - 1, p.w + 2, p.h + 2);
    return lit;
  }

  private drawGhost(g: CanvasRenderingContext2D, name: string, count: number): void {
    const p = this.layout!.byName.get(name);
    if (!p) return;
    const s = this.layout!.size, free = this.slots.of(p.node);
    g.strokeStyle = this.theme.accent;
    g.lineWidth = s.cell >= 8 ? 2 : 1;
    g.strokeRect(p.x - 1, p.y - 1, p.w + 2, p.h + 2);
    g.setLineDash(s.cell >= 8 ? [3, 2] : []);
    let left = count;
    for (let i = 0; i < free.length && left > 0; i++) {
      if (free[i]) continue;
      const [x, y] = this.cellRect(p, i);
      g.strokeRect(x + 1, y + 1, s.cell - 2, s.cell - 2);
      left--;
    }
    g.setLineDash([]);
  }

  private drawCursor(g: CanvasRenderingContext2D, name: string): void {
    const p = this.layout!.byName.get(name);
    if (!p) return;
    g.strokeStyle = this.theme.text;
    g.lineWidth = 2;
    g.strokeRect(p.x - 2, p.y - 2, p.w + 4, p.h + 4);
  }

  private targetAt(e: PointerEvent | MouseEvent): Target | undefined {
    if (!this.layout) return undefined;
    const r = this.el.getBoundingClientRect();
    const x = e.clientX - r.left + this.el.scrollLeft, y = e.clientY - r.top + this.el.scrollTop;
    const p = this.layout.places.find((q) => x >= q.x && x < q.x + q.w && y >= q.y && y < q.y + q.h);
    if (!p) return undefined;
    const s = this.layout.size, cells = this.slots.of(p.node);
    const i = cells.findIndex((_, k) => {
      const [cx, cy] = this.cellRect(p, k);
      return x >= cx - s.gap && x < cx + s.cell + s.gap && y >= cy - s.gap && y < cy + s.cell + s.gap;
    });
    return { node: p.node, pod: i < 0 ? undefined : cells[i] };
  }

  private point(e: PointerEvent): void {
    this.onHover(this.targetAt(e));
  }

  private key(e: KeyboardEvent): void {
    const places = this.layout?.places ?? [];
    if (e.key === "+" || e.key === "=") return this.zoomBy(1);
    if (e.key === "-") return this.zoomBy(-1);
    if (e.key === "0") return this.zoomBy(0);
    if (!/^(Arrow|Home|End|Enter| )/.test(e.key) || places.length === 0) return;
    e.preventDefault();
    const here = Math.max(0, places.findIndex((p) => p.node.name === this.at)), p = places[here];
    let next = here;
    if (e.key === "Enter" || e.key === " ") return this.onSelect({ node: p.node, pod: p.node.pods[0] });
    if (this.at === undefined || e.key === "Home") {
      next = 0;
    } else if (e.key === "End") {
      next = places.length - 1;
    } else {
      next = nearest(places, here, e.key);
    }
    const q = places[next];
    this.at = q.node.name;
    this.el.scrollTop = Math.min(Math.max(this.el.scrollTop, q.y + q.h + 8 - this.el.clientHeight), Math.max(0, q.y - 8));
    this.overDirty = true;
    this.tell();
    this.onHover({ node: q.node });
    this.schedule();
  }
}

const FONT = "system-ui, sans-serif";

// The next node in a direction: the smallest way, sideways steps counted double.
function nearest(places: Place[], from: number, key: string): number {
  const a = places[from], side = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  let best = from, way = Infinity;
  places.forEach((b, i) => {
    const dx = b.x + b.w / 2 - a.x - a.w / 2, dy = b.y + b.h / 2 - a.y - a.h / 2;
    const along = (side ? dx : dy) * sign, across = Math.abs(side ? dy : dx);
    if (along > 2 && along + 2 * across < way) {
      way = along + 2 * across;
      best = i;
    }
  });
  return best;
}

const widths = new Map<string, string>();

// The text as far as there is room.
function clip(g: CanvasRenderingContext2D, text: string, room: number): string {
  const key = `${g.font}|${Math.floor(room)}|${text}`;
  let known = widths.get(key);
  if (known === undefined) {
    known = text;
    while (known.length > 1 && g.measureText(known).width > room) known = known.slice(0, -2) + "…";
    if (widths.size > 20000) widths.clear();
    widths.set(key, known);
  }
  return known;
}
