import assert from "node:assert/strict";
import { test } from "node:test";
import { hook, kube, log, settings, values } from "../dist/index.js";
import { Kit } from "../dist/testing/index.js";

const app = {
  apiVersion: "example.com/v1", kind: "App", metadata: { name: "web", namespace: "shop" }, spec: { size: 2, plan: "small" },
};
const deployment = (ready) => ({
  apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" }, status: { readyReplicas: ready },
});

const apps = hook({
  config: { reconcile: [{ name: "apps", apiVersion: "example.com/v1", kind: "App", owns: [] }] },
  async reconcile(parent, binding) {
    const ready = parent.child("Deployment", parent.name)?.object.status.readyReplicas ?? 0;
    const plan = kube.find({ apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: parent.spec.plan });
    const keys = parent.related.map(({ name, object }) => `${name} ${object.metadata.name}`);
    const response = await fetch(`https://a.io/${binding}`, { method: "POST", body: parent.name });
    log.info("asked", { status: response.status });
    return { children: [], status: { ready, plan: plan?.data.cpu, keys, answer: await response.json(), ...settings() } };
  },
  finalize: (parent) => ({ done: parent.object.metadata.deletionTimestamp !== undefined }),
});

test("a hook is called as the operator calls it", async () => {
  const kit = new Kit(apps, { settings: { tier: "one" } });
  kit.cluster.given({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "small", namespace: "shop" }, data: { cpu: "1" } });
  kit.answers({ method: "POST", url: "https://a.io/apps", status: 201, json: { id: 7 } });
  const key = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: "shop" } };
  const desired = await kit.reconcile("apps", app, { children: [deployment(1)], related: { keys: [key] } });
  assert.deepEqual(desired.status, { ready: 1, plan: "1", keys: ["keys key"], answer: { id: 7 }, tier: "one" });
  assert.equal(kit.sent.length, 1);
  assert.deepEqual([kit.sent[0].method, kit.sent[0].body], ["POST", "web"]);
  assert.deepEqual(kit.logged, ['info asked {"status":201}']);
  assert.deepEqual(await kit.finalize("apps", app), { done: true });
  assert.equal(kit.config.reconcile[0].kind, "App");
});

test("a request without an answer, and one that fails, say why", async () => {
  const kit = new Kit(apps);
  const cause = async () => (await kit.reconcile("apps", app).catch((error) => error)).cause;
  assert.match((await cause()).message, /no answer to POST https:\/\/a.io\/apps/);
  kit.answers({ method: "POST", url: "https://a.io/apps", fails: "timeout" });
  assert.equal((await cause()).reason, "timeout");
  const { reconcile } = hook({ config: {}, reconcile: () => ({}) });
  assert.equal(typeof reconcile, "function");
  await assert.rejects(new Kit(hook({ config: {} })).finalize("apps", app), /the hook has no function finalize/);
});

test("calls of kube read and write the cluster in memory", () => {
  const kit = new Kit(apps);
  const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "a" };
  const map = (data) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop", labels: { a: "b" } }, data });
  const reason = (call) => {
    try {
      call();
    } catch (error) {
      return error.reason ?? error.message;
    }
  };
  assert.equal(reason(() => kube.get(ref)), "not-found");
  assert.equal(reason(() => kube.update(map({}))), "not-found");
  assert.equal(reason(() => kube.merge(ref, {})), "not-found");
  kube.create(map({ x: "1", y: "2" }));
  assert.equal(reason(() => kube.create(map({}))), "already-exists");
  assert.equal(kube.create(map({}), { ifExists: "keep" }), undefined);
  kube.merge(ref, { data: { x: null, z: "3" } });
  assert.deepEqual(kit.cluster.find(ref).data, { y: "2", z: "3" });
  assert.deepEqual([...kube.list({ apiVersion: "v1", kind: "ConfigMap", labelSelector: "a=b" })].length, 1);
  assert.deepEqual([...kube.list({ apiVersion: "v1", kind: "ConfigMap", namespace: "other" })], []);
  kube.apply({ ...map(), metadata: { name: "b", namespace: "shop" } });
  assert.equal(kit.cluster.objects.length, 2);
  kube.remove(ref);
  kube.remove(ref);
  assert.equal(kit.cluster.find(ref), undefined);
  const unknown = reason(() => kube.write({ verb: "patch", target: ref, type: "jq", patch: "." }));
  assert.match(unknown, /the kit does not know patches of the type jq/);
  assert.match(reason(() => [...kube.list({ apiVersion: "v1", kind: "Pod", labelSelector: "a in (b)" })]), /label selector/);
});

test("values are seen and what a hook changes is told", async () => {
  const web = hook({
    config: { beforeHelm: 10, schedule: [{ name: "daily", crontab: "@daily" }] },
    run(ctx) {
      values.set("/web/port", [values.get().web.port, values.config().web.port]);
      values.remove("/web/old");
      values.setConfig("/web/seen", ctx.triggers[0].binding);
      values.removeConfig("/web/gone");
    },
  });
  await assert.rejects(new Kit(web).run("beforeHelm"), /belongs to no module/);
  const kit = new Kit(web, { values: { global: {}, web: { port: 80 } }, config: { web: { port: 81 } } });
  await kit.run("beforeHelm");
  const changes = (seen) => [
    { path: "/web/port", value: [80, 81], config: false },
    { path: "/web/old", config: false },
    { path: "/web/seen", value: seen, config: true },
    { path: "/web/gone", config: true },
  ];
  assert.deepEqual(kit.changes, changes("beforeHelm"));
  await kit.tick("daily");
  assert.deepEqual(kit.changes.slice(4), changes("daily"));
  await assert.rejects(kit.run("afterHelm"), /the hook has no afterHelm/);
  await assert.rejects(kit.tick("hourly"), /the hook has no schedule hourly/);
  await assert.rejects(new Kit(apps, {}).run("beforeHelm"), /the hook has no beforeHelm/);
});
