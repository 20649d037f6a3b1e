// `boathook serve --console` on a cluster with RBAC: who may see it.
import assert from "node:assert/strict";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Visit, launch } from "./browser.mjs";
import { Program, directory, send, until } from "./operator.mjs";

const HOOK = process.env.BOATHOOK_HOOK ?? new URL("../../hooks-wasm/dist/registry-secret.wasm", import.meta.url).pathname;
const RBAC = "rbac.authorization.k8s.io";

let browser;
let cluster;
let operator;
let files;
let url;
let admin;

/** What the kubeconfig of the local cluster says. */
function read(text) {
  const field = (name) => new RegExp(`${name}: *["']?([^"',}\\n]+)`).exec(text)?.[1].trim();
  return { server: field("server"), token: field("token"), ca: Buffer.from(field("certificate-authority-data"), "base64").toString() };
}

before(async () => {
  browser = await launch();
  files = await directory();
  const kubeconfig = join(files.path, "kubeconfig");
  cluster = new Program(["cluster", "--rbac", "--write-kubeconfig", kubeconfig]);
  await cluster.next("the cluster is there", (line) => line.text?.includes("ready"));
  admin = read(await readFile(kubeconfig, "utf8"));
  const hooks = join(files.path, "hooks");
  await mkdir(hooks);
  await copyFile(HOOK, join(hooks, "registry-secret.wasm"));
  operator = new Program([
    ..."serve --hook-bundles off --no-webhooks --admin-socket none --log-format json --listen 127.0.0.1:0 --console 127.0.0.1:0".split(" "),
    ...["--hooks", hooks, "--kubeconfig", kubeconfig],
  ]);
  const line = await operator.next("the console is there", (line) => line.message === "listening");
  url = `http://${line.console}/`;
  const started = async () => (await fetch(`http://${line.listen}/startupz`)).ok;
  await until("the hooks are loaded", started);
  for (const name of ["viewer", "stranger"]) {
    await send(admin.server, "POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name } }, admin);
  }
  const role = { metadata: { name: "console" }, rules: [{ nonResourceURLs: ["/boathook/console"], verbs: ["get"] }] };
  await send(admin.server, "POST", `/apis/${RBAC}/v1/clusterroles`, role, admin);
  const binding = {
    metadata: { name: "console" },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "console" },
    subjects: [{ kind: "ServiceAccount", name: "viewer", namespace: "default" }],
  };
  await send(admin.server, "POST", `/apis/${RBAC}/v1/clusterrolebindings`, binding, admin);
});

after(async () => {
  await browser?.close();
  await operator?.stop();
  await cluster?.stop();
  await files?.remove();
});

/** As `kubectl create token` gets it. */
async function token(name) {
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  return (await send(admin.server, "POST", path, request, admin)).status.token;
}

async function signIn(page, text) {
  await page.getByLabel("Token").fill(text);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("a visitor is refused with the reason, or let in", async () => {
  const visit = await Visit.start(browser, url);
  const { page } = visit;
  await page.getByText("It needs a token of a user who may get").waitFor();
  await visit.picture("sign-in");
  await signIn(page, "nonsense");
  await page.getByRole("alert").getByText("the API server does not accept this token").waitFor();
  await signIn(page, await token("stranger"));
  await page.getByRole("alert").getByText("system:serviceaccount:default:stranger may not see the console").waitFor();
  await signIn(page, await token("viewer"));
  await page.getByText("registry-secret").first().waitFor();
  // Runs are repeated on the machine of an author, and not here.
  const absent = page.waitForResponse((answer) => answer.url().includes("/api/again"));
  await page.goto(`${visit.origin}/#/runs/registry-secret/x-1`);
  assert.equal((await absent).status(), 404);
  await page.getByRole("heading", { name: "What it wrote, and why" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /Replay|scenario/ }).count(), 0);
  await page.goto(`${visit.origin}/#/hooks`);
  // The tab stays signed in, and another one is not.
  await page.reload();
  await page.getByText("registry-secret").first().waitFor();
  const other = await Visit.start(browser, url);
  await other.page.getByLabel("Token").waitFor();
  await other.end();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  await page.reload();
  await page.getByLabel("Token").waitFor();
  await visit.end();
});

test("a visitor whose right is taken away sees nothing more", async () => {
  const visit = await Visit.start(browser, url);
  const { page } = visit;
  await signIn(page, await token("viewer"));
  await page.getByText("registry-secret").first().waitFor();
  await send(admin.server, "DELETE", `/apis/${RBAC}/v1/clusterrolebindings/console`, {}, admin);
  const refused = page.getByRole("alert").getByText("may not see the console");
  await until("the page is refused", () => refused.isVisible());
  assert.equal(await page.getByText("registry-secret").count(), 0);
  await visit.end();
});
