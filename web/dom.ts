// Elements from data, without a framework: h() makes a tree, morph() makes a live tree equal to it and keeps
// what did not change, focus and scroll positions included. Texts are always text nodes: nothing that a
// cluster says is ever parsed as markup.

export type Child = Node | string | number | null | undefined | false | Child[];
type Handler = (event: Event) => void;
export type Props = Record<string, string | number | boolean | null | undefined | Handler>;

const SVG = "http://www.w3.org/2000/svg";
const HANDLERS = ["onclick", "oninput", "onchange", "onsubmit", "onkeydown"] as const;

function add(parent: Element, child: Child): void {
  if (Array.isArray(child)) {
    for (const one of child) add(parent, one);
  } else if (child instanceof Node) {
    parent.append(child);
  } else if (child !== null && child !== undefined && child !== false) {
    parent.append(String(child));
  }
}

function fill(el: HTMLElement | SVGElement, props: Props, children: Child[]): void {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || (value === false && !key.startsWith("data-"))) continue;
    if (typeof value === "function") (el as unknown as Record<string, Handler>)[key] = value;
    else if (key.startsWith("--")) el.style.setProperty(key, String(value));
    else el.setAttribute(key, value === true && !key.startsWith("data-") ? "" : String(value));
  }
  add(el, children);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  fill(el, props, children);
  return el;
}

export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const el = document.createElementNS(SVG, tag);
  fill(el, props, children);
  return el;
}

function sameKind(a: Node, b: Node): boolean {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  return !(a instanceof Element && b instanceof Element) ||
    a.getAttribute("data-key") === b.getAttribute("data-key");
}

function syncAttributes(from: Element, to: Element): void {
  for (const { name } of Array.from(from.attributes)) {
    // What a person opened stays open.
    if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS"))
      from.removeAttribute(name);
  }
  for (const { name, value } of Array.from(to.attributes)) {
    if (name === "style") continue;
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  const before = (from as HTMLElement).style, after = (to as HTMLElement).style;
  if (before.cssText !== after.cssText) before.cssText = after.cssText;
  const old = from as unknown as Record<string, unknown>, next = to as unknown as Record<string, unknown>;
  for (const name of HANDLERS) {
    if (old[name] !== next[name]) old[name] = next[name];
  }
}

function morphNode(from: Node, to: Node): void {
  if (from instanceof Element && to instanceof Element) {
    if (from.hasAttribute("data-kept")) return; // somebody else draws it
    syncAttributes(from, to);
    morphChildren(from, Array.from(to.childNodes));
  } else if (from.nodeValue !== to.nodeValue) {
    from.nodeValue = to.nodeValue;
  }
}

function keyOf(n: Node): string | null {
  return n instanceof Element ? n.getAttribute("data-key") : null;
}

function morphChildren(parent: Node, wanted: Node[]): void {
  const keyed = new Map<string, Node>();
  for (const n of Array.from(parent.childNodes)) {
    const key = keyOf(n);
    if (key !== null) keyed.set(key, n);
  }
  let at: ChildNode | null = parent.firstChild;
  for (const want of wanted) {
    const key = keyOf(want);
    const found: Node | null = key !== null ? keyed.get(key) ?? null : at;
    if (found && sameKind(found, want)) {
      if (found === at) at = at.nextSibling;
      else parent.insertBefore(found, at);
      morphNode(found, want);
    } else {
      parent.insertBefore(want, at);
    }
  }
  while (at) {
    const next: ChildNode | null = at.nextSibling;
    at.remove();
    at = next;
  }
}

// Makes the children of a live element those that are given.
export function morph(parent: Element, ...children: Child[]): void {
  const wanted = document.createElement("div");
  add(wanted, children);
  morphChildren(parent, Array.from(wanted.childNodes));
}

export function plural(n: number, one: string, many = one + "s"): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}
