// The way to the server: the one-time token of the address becomes a session, which every request carries as
// a header. It stays in this tab.

const KEY = "grove-session";

export class Refused extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

let session = sessionStorage.getItem(KEY) ?? "";

async function fail(answer: Response): Promise<never> {
  let text = `${answer.status} ${answer.statusText}`;
  try {
    text = ((await answer.json()) as { error?: string }).error ?? text;
  } catch { /* it is not ours */ }
  throw new Refused(answer.status, text);
}

async function post(path: string, body: unknown): Promise<unknown> {
  const answer = await fetch(path, { method: "POST", body: JSON.stringify(body), credentials: "omit",
    headers: { "content-type": "application/json", "grove-session": session } });
  if (!answer.ok) await fail(answer);
  return answer.json();
}

// Exchanges the token of the address, where it has one, and takes it out of the address.
export async function login(): Promise<void> {
  const token = /^#([\w-]{43})$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", "#/fleet");
  session = ((await post("/api/session", { token })) as { session: string }).session;
  sessionStorage.setItem(KEY, session);
}

export function hasSession(): boolean {
  return session !== "";
}

export function forgetSession(): void {
  session = "";
  sessionStorage.removeItem(KEY);
}

export interface Answer<T> { code: number; document?: T; error: string }

// A question that a command answers (src/ui/questions.h).
export async function ask<T>(question: string, about: { kind?: string; namespace: string; name?: string;
  manifest?: string }): Promise<Answer<T>> {
  return (await post("/api/ask", { question, ...about })) as Answer<T>;
}

// Reads lines until the stream ends; resolves when it does.
export async function follow(take: (line: { name: string; value?: unknown }) => void, now: () => void,
  signal: AbortSignal): Promise<void> {
  const answer = await fetch("/api/stream",
    { headers: { "grove-session": session }, credentials: "omit", signal });
  if (!answer.ok || !answer.body) return fail(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      const line = JSON.parse(text) as { name: string; value?: unknown };
      if (line.name === "now") now();
      else take(line);
    }
  }
}
