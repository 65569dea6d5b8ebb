// Looks at the page as it is laid out: text boxes that overlap, text that is cut off, text that is hard to read.
(() => {
  const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const backOf = (el) => {
    for (let e = el; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || (c.length === 4 && c[3] === 1)) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const boxes = [], found = [];
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const el = n.parentElement, text = n.nodeValue.trim();
    if (!text || /^(OPTION|SCRIPT|STYLE|TEXTAREA)$/.test(el.tagName) || el.closest(".sr, .skip, details:not([open]) > :not(summary)")) continue;
    if (!el.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(n);
    const style = getComputedStyle(el);
    const contrast = (() => {
      const a = light(parse(style.color)), b = light(backOf(el));
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    })();
    if (contrast < 4.5 && !el.closest(":disabled")) found.push(`contrast ${contrast.toFixed(2)}: ${text.slice(0, 60)}`);
    // What scrolls is not cut off; what is scrolled out of sight is not on the page now.
    let scroll = null;
    for (let e = el; e && e !== document.body; e = e.parentElement) {
      const s = getComputedStyle(e);
      if (/auto|scroll/.test(s.overflowX + s.overflowY)) { scroll = scroll || e; continue; }
      if (/hidden|clip/.test(s.overflowX) && e.scrollWidth > e.clientWidth + 1) found.push(`cut off: ${text.slice(0, 60)}`);
    }
    const frame = scroll ? scroll.getBoundingClientRect() : { left: 0, top: 0, right: innerWidth, bottom: Infinity };
    for (const r of range.getClientRects()) {
      if (r.width < 1 || r.height < 1 || r.bottom < frame.top + 1 || r.top > frame.bottom - 1) continue;
      if (r.right < frame.left + 1 || r.left > frame.right - 1) continue;
      if (!scroll && (r.right > innerWidth + 1 || r.left < -1)) found.push(`outside: ${text.slice(0, 60)}`);
      boxes.push({ r, text, el });
    }
  }
  boxes.sort((a, b) => a.r.top - b.r.top);
  for (let i = 0; i < boxes.length; i++) {
    for (let k = i + 1; k < boxes.length && boxes[k].r.top < boxes[i].r.bottom; k++) {
      const a = boxes[i].r, b = boxes[k].r;
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Lines of one paragraph touch: glyphs do not fill their boxes.
      if (w > 2 && h > Math.min(a.height, b.height) * 0.3) found.push(`overlap: ${boxes[i].text.slice(0, 40)} | ${boxes[k].text.slice(0, 40)}`);
    }
  }
  for (const e of document.querySelectorAll("#main, .view, .side")) {
    if (e.scrollWidth > e.clientWidth + 1) found.push(`wider than its frame: ${e.className || e.id} ${e.scrollWidth} > ${e.clientWidth}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push("the page is wider than the window");
  return JSON.stringify({ found: [...new Set(found)].slice(0, 12), texts: boxes.length });
})()
