// The page: a bar with the views, the view one is in, and a line that says when the server is away.

import type { App, View } from "./app";
import { onTheme } from "./colour";
import { h, morph } from "./dom";
import { FleetView } from "./fleet";
import { Model } from "./model";
import { SetsView } from "./sets";
import { follow, forgetSession, hasSession, login, Refused } from "./stream";
import { UpdateView } from "./update";
import { WhatIfView } from "./whatif";
import { WhyView } from "./why";

const VIEWS: { path: string; title: string; make: (app: App) => View }[] = [
  { path: "fleet", title: "Fleet", make: (a) => new FleetView(a) },
  { path: "sets", title: "Sets", make: (a) => new SetsView(a) },
  { path: "update", title: "Update", make: (a) => new UpdateView(a) },
  { path: "why", title: "Why", make: (a) => new WhyView(a) },
  { path: "whatif", title: "What if", make: (a) => new WhatIfView(a) },
];

class Page {
  private readonly model = new Model();
  private readonly app: App = { model: this.model, go: (path) => { location.hash = `#/${path}`; } };
  private readonly views = new Map<string, View>();
  private readonly bar = h("header", { class: "bar" });
  private readonly main = h("main", { id: "main" });
  private readonly notice = h("p", { class: "notice", role: "status" });
  private state: "connecting" | "live" | "away" = "connecting";
  private frame = 0;

  start(): void {
    document.body.replaceChildren(h("a", { class: "skip", href: "#main", onclick: (e) => { e.preventDefault(); this.main.focus(); } }, "Skip to the view"),
      this.bar, this.notice, this.main);
    this.main.tabIndex = -1;
    addEventListener("hashchange", () => this.route());
    addEventListener("keydown", (e) => this.key(e));
    onTheme(() => this.views.forEach((v) => v.retheme?.()));
    if (!location.hash.startsWith("#/")) history.replaceState(null, "", "#/fleet");
    this.route();
  }

  private here(): [string, string[]] {
    const words = location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
    const first = VIEWS.some((v) => v.path === words[0]) ? words[0] : "fleet";
    return [first, words.slice(1)];
  }

  private route(): void {
    const [path, words] = this.here();
    let view = this.views.get(path);
    if (!view) {
      const make = VIEWS.find((v) => v.path === path)!.make;
      this.views.set(path, view = make(this.app));
    }
    if (this.main.firstChild !== view.el) this.main.replaceChildren(view.el);
    view.show(words);
    this.drawBar();
    const title = VIEWS.find((v) => v.path === path)!.title;
    document.title = `${title} · Grove`;
  }

  private key(e: KeyboardEvent): void {
    const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLTextAreaElement || e.target instanceof HTMLSelectElement;
    if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
    const i = Number(e.key) - 1;
    if (i >= 0 && i < VIEWS.length) this.app.go(VIEWS[i].path);
    if (e.key === "/") {
      const find = this.main.querySelector<HTMLElement>("input[type=search], input, textarea");
      if (find) {
        e.preventDefault();
        find.focus();
      }
    }
  }

  private drawBar(): void {
    const [path] = this.here(), words = { connecting: "connecting", live: "live", away: "not connected" };
    morph(this.bar,
      h("span", { class: "brand" }, h("img", { src: "/icon.svg", alt: "", width: 22, height: 22 }), "Grove"),
      h("nav", { "aria-label": "Views" }, VIEWS.map((v, i) => h("a", { href: `#/${v.path}`, "aria-current": v.path === path && "page",
        title: `${v.title} (${i + 1})`, "data-view": v.path }, v.title))),
      h("span", { class: `conn ${this.state}`, "data-state": this.state }, h("i", { "aria-hidden": "true" }), h("span", { class: "conn-text" }, words[this.state],
        this.model.meta && h("span", { class: "dim" }, ` ${this.model.meta.server}`))));
  }

  private render(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const [path] = this.here();
      this.drawBar();
      this.views.get(path)?.update();
      document.body.dataset.version = String(this.model.version);
      if (this.model.meta?.complete && !document.body.dataset.complete) {
        document.body.dataset.complete = "true";
        performance.mark("complete");
      }
    });
  }

  say(text: string): void {
    this.notice.textContent = text;
    this.notice.classList.toggle("some", text !== "");
  }

  // Follows the stream, and again when it ends, after longer and longer.
  async live(): Promise<void> {
    let pause = 250;
    for (;;) {
      try {
        await follow((line) => this.model.take(line), () => {
          if (this.state !== "live") {
            this.state = "live";
            pause = 250;
            this.say("");
          }
          this.render();
        }, new AbortController().signal);
      } catch (e) {
        if (e instanceof Refused && e.status === 401) {
          forgetSession();
          return this.locked(e.message);
        }
      }
      this.state = "away";
      this.drawBar();
      this.say("The server does not answer. What is shown is how it was; trying again.");
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, 5000);
    }
  }

  locked(why: string): void {
    this.state = "away";
    document.body.replaceChildren(h("main", { class: "locked" }, h("img", { src: "/icon.svg", alt: "", width: 56, height: 56 }),
      h("h1", {}, "This page is closed"), h("p", { "data-locked": "" }, why),
      h("p", {}, "Run ", h("code", {}, "grove ui"), " for a new address.")));
  }
}

async function begin(): Promise<void> {
  const page = new Page();
  try {
    await login();
  } catch (e) {
    // One who loads the address again has a session.
    if (!hasSession()) return page.locked(e instanceof Error ? e.message : String(e));
  }
  if (!hasSession()) return page.locked("The address that grove printed opens it, once.");
  page.start();
  await page.live();
}

void begin();
