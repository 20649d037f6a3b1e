// Starts the real binary, reads the lines that it prints, and writes objects to its cluster.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

const BOATHOOK = process.env.BOATHOOK_BIN ?? "boathook";
/** Nothing takes this long. A machine can be slow. */
export const PATIENCE = 60_000;

/** A program under test. Its lines of JSON, on both outputs, can be waited for. */
export class Program {
  constructor(args, env = {}) {
    this.lines = [];
    this.text = "";
    this.waiting = new Set();
    this.child = spawn(BOATHOOK, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    this.ended = new Promise((resolve) => this.child.on("exit", resolve));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      createInterface({ input: stream }).on("line", (text) => this.line(text));
    }
  }

  line(text) {
    this.text += `${text}\n`;
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      line = { text };
    }
    this.lines.push(line);
    for (const wake of this.waiting) wake();
  }

  /** The first line that is like this. */
  async next(what, wanted) {
    return until(what, () => this.lines.find(wanted), this.waiting, () => this.text);
  }

  async stop() {
    this.child.kill("SIGTERM");
    await this.ended;
  }
}

/** Waits until `look` finds something. `wakers` receives what has to be called when there is news. */
export async function until(what, look, wakers, context = () => "") {
  const ends = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > ends) throw new Error(`never: ${what}\n${context()}`);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wakers ? 1000 : 20);
      const wake = () => (clearTimeout(timer), wakers.delete(wake), resolve());
      wakers?.add(wake);
    });
  }
}

export async function directory() {
  const path = await mkdtemp(join(tmpdir(), "boathook-console-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Sends a request to an API server, and fails if it is refused. */
export async function send(server, method, path, body, { token, ca } = {}) {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "Content-Type": type, ...(token && { Authorization: `Bearer ${token}` }) };
  const text = body && JSON.stringify(body);
  if (!ca) {
    const answer = await fetch(server + path, { method, headers, body: text });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
  return new Promise((resolve, reject) => {
    const asked = request(server + path, { method, headers, ca }, (answer) => {
      let received = "";
      answer.on("data", (part) => (received += part));
      answer.on("end", () => {
        if (answer.statusCode < 300) resolve(JSON.parse(received));
        else reject(new Error(`${method} ${path}: ${answer.statusCode} ${received}`));
      });
    });
    asked.on("error", reject);
    asked.end(text);
  });
}

export const namespace = (name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
