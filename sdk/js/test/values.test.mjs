// docs/testing.md shows this.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hook, values } from "@boathook/sdk";
import { Kit } from "@boathook/sdk/testing";

const web = hook({
  config: { beforeHelm: 10 },
  run() {
    values.set("/web/replicas", values.get().global.highAvailability ? 3 : 1);
  },
});

test("there are three replicas for high availability", async () => {
  const kit = new Kit(web, { values: { global: { highAvailability: true }, web: {} } });
  await kit.run("beforeHelm");
  assert.deepEqual(kit.changes, [{ path: "/web/replicas", value: 3, config: false }]);
});
