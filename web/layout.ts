// Where everything stands: zones hold blocks, blocks racks, racks nodes, nodes cells, one for each device.
// Boxes flow from left to right and wrap. The cells are as large as the window allows, and what is drawn of a
// box follows from that: names of nodes go first, then those of racks and blocks.

import type { FleetNode } from "./model";

export interface Place { node: FleetNode; x: number; y: number; w: number; h: number; cols: number }
export interface Box { x: number; y: number; w: number; h: number; label: string; depth: number }
export interface Layout {
  size: Size; places: Place[]; byName: Map<string, Place>; boxes: Box[]; width: number; height: number;
}
export interface Size {
  cell: number; gap: number; cols: number; pad: number; head: number; // of a node: space above its cells
  scale: number; // of texts
  labels: number[]; // height of the label of a zone, a block, a rack; 0: it has none
  between: number;
}

function size(cell: number): Size {
  if (cell >= 12) {
    const k = Math.max(1, cell / 20);
    return { cell, gap: Math.round(3 * k), cols: 8, pad: 6 * k, head: 17 * k, scale: k,
      labels: [22 * k, 18 * k, 17 * k], between: (cell >= 18 ? 10 : 7) * k };
  }
  if (cell >= 8) return { cell, gap: 2, cols: 8, pad: 4, head: 0, scale: 1, labels: [20, 16, 14], between: 6 };
  if (cell >= 5) return { cell, gap: 1, cols: 4, pad: 2, head: 0, scale: 1, labels: [16, 0, 0], between: 4 };
  if (cell >= 3) return { cell, gap: 1, cols: 4, pad: 1, head: 0, scale: 1, labels: [0, 0, 0], between: 2 };
  return { cell, gap: 0, cols: 4, pad: 1, head: 0, scale: 1, labels: [0, 0, 0], between: 1 };
}
export const CELLS = [56, 48, 40, 34, 28, 24, 20, 18, 16, 14, 12, 10, 8, 6, 5, 4, 3, 2];

export function cellsOf(n: FleetNode): number {
  return n.devices > 0 ? Math.min(n.devices, 64) : Math.min(Math.max(n.pods.length, 8), 32);
}

interface Tree { name: string; children: Map<string, Tree>; nodes: FleetNode[] }
const tree = (name: string): Tree => ({ name, children: new Map<string, Tree>(), nodes: [] });
const collator = new Intl.Collator("en", { numeric: true });

function child(t: Tree, name: string): Tree {
  let c = t.children.get(name);
  if (!c) t.children.set(name, c = tree(name));
  return c;
}

export function grow(nodes: Iterable<FleetNode>): Tree {
  const root = tree("");
  const sorted = Array.from(nodes).sort((a, b) => collator.compare(a.zone, b.zone) ||
    collator.compare(a.block, b.block) || collator.compare(a.rack, b.rack) || collator.compare(a.name, b.name));
  for (const n of sorted) child(child(child(root, n.zone), n.block), n.rack).nodes.push(n);
  return root;
}

interface Piece { w: number; h: number; put: (x: number, y: number) => void }

function rowsOf(pieces: Piece[], width: number, between: number): number {
  let rows = 1, x = 0;
  for (const p of pieces) {
    if (x > 0 && x + p.w > width) {
      rows++;
      x = 0;
    }
    x += p.w + between;
  }
  return rows;
}

// Rows of pieces no wider than that, and about equally long: a last row of one would leave a hole.
function flow(pieces: Piece[], room: number, between: number): Piece {
  const whole = pieces.reduce((sum, p) => sum + p.w + between, -between), widest = Math.max(0, ...pieces.map((p) => p.w));
  const rows = rowsOf(pieces, room, between), each = Math.ceil(pieces.length / rows);
  let width = Math.min(room, Math.max(widest, (each * (whole + between)) / Math.max(pieces.length, 1) - between) + 0.5);
  while (width < room && rowsOf(pieces, width, between) > rows) width = Math.min(room, width + Math.max(widest / 4, 1));
  let x = 0, y = 0, row = 0, w = 0;
  const at: [number, number][] = [];
  for (const p of pieces) {
    if (x > 0 && x + p.w > width) {
      x = 0;
      y += row + between;
      row = 0;
    }
    at.push([x, y]);
    x += p.w + between;
    w = Math.max(w, x - between);
    row = Math.max(row, p.h);
  }
  return { w, h: y + row, put: (left, top) => pieces.forEach((p, i) => p.put(left + at[i][0], top + at[i][1])) };
}

// share: of the width, that a block may take.
function arrangeBy(root: Tree, width: number, cell: number, share: number): Layout {
  const s = size(cell);
  const out: Layout = { size: s, places: [], byName: new Map(), boxes: [], width, height: 0 };

  const nodePiece = (node: FleetNode): Piece => {
    const n = cellsOf(node), cols = Math.min(s.cols, n), rows = Math.ceil(n / cols);
    const w = cols * (s.cell + s.gap) - s.gap + 2 * s.pad, h = rows * (s.cell + s.gap) - s.gap + 2 * s.pad + s.head;
    return { w, h, put: (x, y) => {
      const place = { node, x, y, w, h, cols };
      out.places.push(place);
      out.byName.set(node.name, place);
    } };
  };
  const boxed = (label: string, depth: number, inner: Piece): Piece => {
    const top = label ? s.labels[depth] : 0, pad = s.labels[0] ? s.between - (depth === 2 ? 2 : 0) : [s.between, 2, 1][depth];
    const w = inner.w + 2 * pad, h = inner.h + 2 * pad + top;
    return { w, h, put: (x, y) => {
      out.boxes.push({ x, y, w, h, label: top ? label : "", depth });
      inner.put(x + pad, y + pad + top);
    } };
  };
  // A rack is a stack, of several columns where it is high.
  const rackPiece = (t: Tree): Piece => {
    const pieces = t.nodes.map(nodePiece);
    const columns = pieces.length <= 8 ? 1 : Math.ceil(Math.sqrt(pieces.length / 2.5));
    const one = pieces[0]?.w ?? 0;
    return boxed(t.name, 2, flow(pieces, Math.min(columns * (one + s.between), width - 8 * s.between) + 1, s.between));
  };
  const levels = (t: Tree, depth: number): Piece => {
    const inner = Array.from(t.children.values(), (c) => depth === 1 ? rackPiece(c) : levels(c, depth + 1));
    return boxed(t.name, depth, flow(inner, (width - 2 * s.between * (depth + 1)) * (depth === 1 ? share : 1) - (share < 1 ? 8 : 0), s.labels[0] ? s.between : 1));
  };
  const all = flow(Array.from(root.children.values(), (z) => levels(z, 0)), width, s.between + 2);
  all.put(0, 0);
  out.width = Math.max(all.w, 1);
  out.height = Math.max(all.h, 1);
  return out;
}

// The lowest of a few ways: blocks across all of the window, or two or three beside each other.
export function arrange(root: Tree, width: number, cell: number): Layout {
  let best = arrangeBy(root, width, cell, 1);
  for (const share of [1 / 2, 1 / 3]) {
    const other = arrangeBy(root, width, cell, share);
    if (other.height < best.height && other.width <= width) best = other;
  }
  return best;
}

function count(t: Tree): number {
  let n = 0;
  for (const node of t.nodes) n += cellsOf(node);
  for (const c of t.children.values()) n += count(c);
  return n;
}

// With the largest cells that leave all of it in the window; smaller than a legible one only scrolls.
export function fit(root: Tree, width: number, height: number, least = 3): Layout {
  let chosen: Layout | undefined;
  const cells = count(root);
  for (const cell of CELLS) {
    // The cells alone would not fit: no need to try.
    if (cell > least && cells * cell * cell > width * height) continue;
    chosen = arrange(root, width, cell);
    if (chosen.height <= height && chosen.width <= width || cell <= least) break;
  }
  return chosen ?? arrange(root, width, least);
}
