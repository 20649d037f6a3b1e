// `boathook dev` with its console, as an author uses it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Visit, launch } from "./browser.mjs";
import { Program, namespace, send, until } from "./operator.mjs";

const HOOK = process.env.BOATHOOK_HOOK ?? new URL("../../hooks-wasm/dist/registry-secret.wasm", import.meta.url).pathname;
const SECRETS = "/api/v1/namespaces/default/secrets";
const NAME = "registry-credentials";

/** The rows of a list. Other options are those of a select. */
const rows = (page) => page.locator(".row[role=option]");

let browser;
let dev;
let url;
let server;

const source = (password) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: NAME },
  data: { password: Buffer.from(password).toString("base64") },
});

before(async () => {
  browser = await launch();
  dev = new Program(["dev", HOOK, "-o", "json"]);
  server = (await dev.next("the cluster is there", (line) => line.type === "started")).server;
  url = (await dev.next("the console is there", (line) => line.type === "console")).url;
  await send(server, "POST", SECRETS, source("first"));
  for (const name of ["team-a", "team-b"]) await send(server, "POST", "/api/v1/namespaces", namespace(name));
  const copy = (name) => send(server, "GET", `/api/v1/namespaces/${name}/secrets/${NAME}`).catch(() => undefined);
  for (const name of ["team-a", "team-b"]) await until(`${name} has its copy`, () => copy(name));
  // What led to the change is one event only if nothing else waits.
  const headers = { Authorization: `Bearer ${url.split("#secret=")[1]}` };
  const api = async (path) => (await fetch(new URL(`/api/${path}`, url), { headers })).json();
  const quiet = async () => (await api("queues")).summary.totalTasks === 0 && (await api("live-runs")).runs.length === 0;
  await until("the hook has nothing to do", quiet);
  await send(server, "PATCH", `${SECRETS}/${NAME}`, source("second"));
  const changed = async (name) => (await copy(name))?.data.password === source("second").data.password;
  for (const name of ["team-a", "team-b"]) await until(`the copy of ${name} follows`, () => changed(name));
});

after(async () => {
  await browser?.close();
  await dev?.stop();
});

test("a person learns in four clicks why a Secret was changed", async () => {
  const visit = await Visit.start(browser, url);
  const { page } = visit;
  await page.getByRole("heading", { name: "Hooks" }).waitFor();
  assert.ok(!page.url().includes("secret"), "the secret is in no address that is kept");
  await visit.picture("hooks");

  await visit.click(page.getByRole("link", { name: "Changes" }));
  await visit.click(page.getByRole("searchbox"));
  await page.keyboard.type("secret team-a");
  await until("both changes are found", async () => (await rows(page).count()) === 2);
  const newest = rows(page).first();
  const at = await newest.locator("time").getAttribute("datetime");
  await visit.picture("changes");
  await visit.click(newest);

  const chain = page.getByRole("list", { name: "What led to this" });
  await chain.waitFor();
  const text = await chain.innerText();
  assert.equal(await chain.locator("time").first().getAttribute("datetime"), at, "it is the change of that time");
  for (const part of ["Secret team-a/registry-credentials", "by hook registry-secret", "Modified Secret default/registry-credentials", "somebody else changed Secret default/registry-credentials"]) {
    assert.ok(text.includes(part), `no ${part} in ${text}`);
  }
  await visit.picture("why");

  await visit.click(chain.getByRole("link", { name: /-\d+$/ }).first());
  await page.getByRole("heading", { name: "What its writes did" }).waitFor();
  const changes = page.locator(".changes").first();
  await changes.waitFor();
  const shown = await page.locator("main").innerText();
  assert.ok(shown.includes("data.password"), shown);
  const encoded = source("second").data.password;
  assert.ok(!shown.includes(encoded) && !shown.includes("second"), "values of Secrets are hidden");
  await page.getByText("succeeded").first().waitFor();
  await visit.picture("run");
  assert.equal(visit.clicks, 4);
  await visit.end();
});

test("everything can be done with the keyboard", async () => {
  const visit = await Visit.start(browser, url);
  const { page } = visit;
  await rows(page).first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("registry");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getByRole("listbox").getAttribute("aria-activedescendant"), "row-0");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "registry-secret" }).waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await rows(page).first().waitFor();
  await page.getByRole("listbox").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^Run / }).waitFor();
  await visit.end();
});

test("each view shows something", async () => {
  const visit = await Visit.start(browser, url, { colorScheme: "dark" });
  const { page } = visit;
  await page.getByRole("heading", { name: "Hooks" }).waitFor();
  for (const [tab, text] of [
    ["Queues", /All queues are empty|triggers/],
    ["Usage", "registry-secret"],
    ["Modules", "No hook has a reconcile binding"],
    ["Why?", "Explain"],
  ]) {
    await visit.click(page.getByRole("link", { name: tab, exact: true }));
    await page.locator("main").getByText(text).first().waitFor();
  }
  await page.getByLabel("Object").fill(`secret/team-b/${NAME}`);
  await page.keyboard.press("Enter");
  await page.getByText("First cause").first().waitFor();
  await page.getByLabel("Hook").fill("registry-secret");
  await visit.click(page.getByRole("button", { name: "Explain" }));
  await page.locator(".findings").waitFor();
  const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red] = back.match(/\d+/g).map(Number);
  assert.ok(red < 60, `dark is not dark: ${back}`);
  await page.goto(`${visit.origin}/#/changes`);
  await rows(page).first().waitFor();
  await visit.picture("dark");
  await visit.end();
});

test("ten thousand hooks are a list like any other", async () => {
  const visit = await Visit.start(browser, url);
  const { page } = visit;
  const hooks = Array.from({ length: 10_000 }, (_, index) => ({
    name: `hook-${String(index).padStart(5, "0")}`,
    state: index % 100 === 7 ? "pending" : "ready",
    reasons: index % 100 === 7 ? ["waits for its objects"] : undefined,
    bindings: [],
    outstanding: 0,
    runs: { total: index, failed: 0 },
  }));
  await page.route("**/api/hooks?brief=true", (route) => route.fulfill({ json: { hooks } }));
  await page.reload();
  await page.getByText("10000 of 10000").waitFor();
  const inPage = () => rows(page).count();
  assert.ok((await inPage()) < 100, "few rows are in the page");
  await page.getByRole("listbox").focus();
  await page.keyboard.press("End");
  await page.getByText("hook-09999").waitFor();
  assert.ok((await inPage()) < 100);
  await page.getByRole("searchbox").fill("hook-04207");
  await page.getByText("1 of 10000").waitFor();
  await page.getByText("waits for its objects").waitFor();
  await visit.picture("many");
  await visit.end();
});

test("without its secret, the console of dev shows nothing", async () => {
  const visit = await Visit.start(browser, `${new URL(url).origin}/`);
  const { page } = visit;
  await page.getByText("open the address that the command printed").waitFor();
  await page.getByLabel("Token").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("not the secret of this console").waitFor();
  await visit.end();
});
