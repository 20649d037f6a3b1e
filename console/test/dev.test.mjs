// `boathook dev` with its console, as an author uses it.
import assert from "node:assert/strict";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Visit, launch } from "./browser.mjs";
import { Program, directory, namespace, send, until } from "./operator.mjs";

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

test("a run is replayed, and becomes a scenario", async () => {
  const visit = await Visit.start(browser, url);
  const { page } = visit;
  await page.goto(`${visit.origin}/#/changes`);
  await page.getByRole("searchbox").fill("secret team-a");
  await rows(page).first().click();
  await page.getByRole("list", { name: "What led to this" }).getByRole("link", { name: /-\d+$/ }).first().click();
  const again = page.getByRole("region", { name: "Again" });
  await again.getByRole("button", { name: "Replay" }).click();
  await again.getByRole("status").getByText("The replay did the same").waitFor();
  await visit.picture("replay");
  await again.getByRole("button", { name: "Make a scenario" }).click();
  const scenario = again.getByLabel("Scenario");
  await scenario.waitFor();
  const text = await scenario.innerText();
  for (const part of ["given:", NAME, "team-a"]) assert.ok(text.includes(part), `no ${part} in ${text}`);
  const values = ["first", "second"].flatMap((value) => [value, source(value).data.password]);
  assert.ok(!values.some((value) => text.includes(value)), "values of Secrets are placeholders");

  // `boathook test` reads the file.
  const files = await directory();
  const file = join(files.path, "incident.yaml");
  await writeFile(file, text);
  const read = new Program(["test", HOOK, "--scenarios", file, "--list"]);
  assert.equal(await read.ended, 0, read.text);
  await files.remove();

  // A run that is not recorded is not offered, and those who ask nevertheless get the reason.
  await page.goto(`${visit.origin}/#/runs/registry-secret/nobody-1`);
  await again.getByText("There is no record of this run").waitFor();
  assert.ok(await again.getByRole("button", { name: "Replay" }).isDisabled());
  const headers = { Authorization: `Bearer ${url.split("#secret=")[1]}` };
  const answer = await fetch(new URL("/api/replay?run=nobody-1", url), { headers });
  assert.equal(answer.status, 409);
  assert.match(await answer.text(), /no record of run nobody-1/);
  await visit.end();
});

test("an address with another secret neither signs out nor breaks the page", async () => {
  const visit = await Visit.start(browser, url);
  const { page } = visit;
  await rows(page).first().waitFor();
  for (const secret of ["wrong", "%", "%E0%A4%A", ""]) {
    await page.goto(`${visit.origin}/#/queues`);
    await page.getByRole("heading", { name: "Queues" }).waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#secret=${secret}`);
    await page.getByRole("heading", { name: "Hooks" }).waitFor();
    await rows(page).first().waitFor();
    assert.ok(!page.url().includes("secret"), page.url());
    // The same when the page is loaded with it.
    await page.evaluate((hash) => history.replaceState(null, "", hash), `#secret=${secret}`);
    await page.reload();
    await rows(page).first().waitFor();
    assert.ok(!page.url().includes("secret"), page.url());
  }
  await visit.end();
  const stranger = await Visit.start(browser, `${visit.origin}/#secret=%`);
  await stranger.page.getByRole("status").getByText("This tab has no token").waitFor();
  // The right one signs in, in place of one that is not accepted.
  await stranger.page.evaluate(() => sessionStorage.setItem("boathook-token", "old"));
  await stranger.page.evaluate((hash) => (location.hash = hash), `#${url.split("#")[1]}`);
  await rows(stranger.page).first().waitFor();
  await stranger.end();
});

test("--open gives the browser a private file that leads to the console", async () => {
  const files = await directory();
  const [program, given] = ["browser", "given"].map((name) => join(files.path, name));
  await writeFile(program, `#!/bin/sh\necho "$#" "$1" > "${given}.new" && mv "${given}.new" "${given}"\n`);
  await chmod(program, 0o755);
  const opened = new Program(["dev", HOOK, "-o", "json", "--open"], { BROWSER: program });
  const address = (await opened.next("the console is there", (line) => line.type === "console")).url;
  const secret = address.split("#secret=")[1];
  const text = await until("the browser is started", () => readFile(given, "utf8").catch(() => undefined));
  const [count, file] = text.trim().split(" ");
  assert.equal(count, "1");
  assert.ok(!text.includes(secret), "other users see the arguments of commands");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const page = await (await browser.newContext()).newPage();
  await page.goto(`file://${file}`);
  await page.getByRole("heading", { name: "Hooks" }).waitFor();
  await rows(page).first().waitFor();
  assert.ok(!page.url().includes(secret), page.url());
  await page.context().close();
  await opened.stop();

  const missing = new Program(["dev", HOOK, "-o", "json", "--open"], { BROWSER: join(files.path, "none") });
  const line = await missing.next("it says that there is no browser", (line) => line.type === "warning");
  assert.match(line.message, /cannot open the console in a browser: cannot run .*none.*: open its address yourself/);
  await missing.stop();
  await files.remove();
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
  await page.getByRole("status").getByText("This tab has no token, so the console shows nothing").waitFor();
  await page.getByText("open the address that the command printed").waitFor();
  await page.getByLabel("Token").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("not the secret of this console").waitFor();
  await visit.end();
});
