// Colours of gangs: a hue for each set, a shade for each of its gangs, in light and in dark. What matters is
// also told by a pattern or a word.

const hues = new Map<string, number>();
const dark = matchMedia("(prefers-color-scheme: dark)");

export function isDark(): boolean {
  return dark.matches;
}
export function onTheme(fn: () => void): void {
  dark.addEventListener("change", () => { cache.clear(); fn(); });
}

// Far apart for sets that come one after the other; a set keeps its hue while the page is open.
export function hueOf(set: string): number {
  let hue = hues.get(set);
  if (hue === undefined) {
    hue = (252 + hues.size * 137.508) % 360;
    hues.set(set, hue);
  }
  return hue;
}

const cache = new Map<string, string>();

export function gangColour(set: string, gang: string): string {
  const key = `${set}\n${gang}`;
  let colour = cache.get(key);
  if (!colour) {
    const number = Number(/(\d+)\D*$/.exec(gang)?.[1] ?? 0) % 3;
    const shade = (number - 1) * 0.055;
    colour = set === "" ? `oklch(${isDark() ? 0.62 : 0.6} 0.01 250)`
      : `oklch(${(isDark() ? 0.72 : 0.6) + shade} ${isDark() ? 0.135 : 0.15} ${hueOf(set)})`;
    if (cache.size > 20000) cache.clear();
    cache.set(key, colour);
  }
  return colour;
}

export function cssVar(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
