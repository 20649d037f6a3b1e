// Copies the Secret `default/registry-credentials` into every namespace, and keeps the copies as the source is.
//
// It never touches a Secret that is not labelled as its copy, and puts nothing on a copy but that label.

import { type Context, type Item, type Snapshot, hook, kube } from "@boathook/sdk";
import { type Copied, type Namespace, type Source, decide } from "./plan";
import { COPY_LABEL, NAME, SKIP_LABEL, SOURCE, isCopy, reference } from "./secret";
import { Writer } from "./writer";

export default hook({
  config: {
    kubernetes: [
      {
        name: "namespaces",
        apiVersion: "v1",
        kind: "Namespace",
        executeHookOnEvent: ["Added", "Modified"],
        jqFilter: `{skip: .metadata.labels["${SKIP_LABEL}"], phase: .status.phase}`,
        content: "none",
        includeSnapshotsFrom: ["source", "copies"],
      },
      // Only `namespaces` runs at the start: that run looks at everything.
      {
        name: "source",
        apiVersion: "v1",
        kind: "Secret",
        namespace: { nameSelector: { matchNames: [SOURCE] } },
        nameSelector: { matchNames: [NAME] },
        executeHookOnSynchronization: false,
        jqFilter: "{type: .type, data: .data}",
        content: "none",
        includeSnapshotsFrom: ["namespaces", "copies"],
      },
      {
        name: "copies",
        apiVersion: "v1",
        kind: "Secret",
        nameSelector: { matchNames: [NAME] },
        labelSelector: { matchLabels: { [COPY_LABEL]: "true" } },
        executeHookOnSynchronization: false,
        jqFilter: "{type: .type, data: .data, immutable: .immutable}",
        content: "none",
        includeSnapshotsFrom: ["namespaces", "source"],
      },
      // What stands in the way of a copy: when it goes, the copy can come.
      {
        name: "others",
        apiVersion: "v1",
        kind: "Secret",
        nameSelector: { matchNames: [NAME] },
        labelSelector: { matchExpressions: [{ key: COPY_LABEL, operator: "NotIn", values: ["true"] }] },
        executeHookOnSynchronization: false,
        executeHookOnEvent: ["Deleted"],
        jqFilter: ".metadata.name",
        content: "none",
        includeSnapshotsFrom: ["namespaces", "source", "copies"],
      },
    ],
    permissions: {
      kubernetes: [
        { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "patch", "delete"], resourceNames: [NAME] },
      ],
    },
    // Room for a 10 kB Secret in 5 000 namespaces.
    limits: { time: "60s", hostCalls: 20_000, hostBytes: "256Mi" },
  },

  run(ctx) {
    const namespaces = ctx.snapshot<never, Namespace>("namespaces");
    const copies = ctx.snapshot<never, Copied>("copies");
    const source = ctx.snapshot<never, Source>("source").get(SOURCE, NAME)?.filterResult;
    const writer = new Writer(source);
    if (source === undefined) {
      if (isGone(copies)) for (const copy of copies) writer.remove(copy);
    } else {
      for (const namespace of touched(ctx, namespaces)) {
        if (namespace.name === SOURCE) continue;
        const copy = copies.get(namespace.name, NAME);
        writer.add(namespace.name, decide(source, namespace.filterResult, copy?.filterResult), copy);
      }
    }
    writer.finish();
  },
});

/** Whether the source is really gone: before all copies go with it, the API server is asked. */
function isGone(copies: Snapshot): boolean {
  return copies.size === 0 || kube.find(reference(SOURCE)) === undefined;
}

/** The namespaces to look at: all of them at the start and when the source changed, then those that changed. */
function touched(ctx: Context, namespaces: Snapshot<never, Namespace>): Iterable<Item<never, Namespace>> {
  if (ctx.synchronized("namespaces") || ctx.has("source")) return namespaces;
  const names = new Set<string>();
  for (const event of ctx.events("namespaces")) names.add(event.target.name);
  for (const binding of ["copies", "others"]) {
    for (const event of ctx.events(binding)) if (event.target.namespace) names.add(event.target.namespace);
  }
  return [...names].sort().flatMap((name) => namespaces.get(undefined, name) ?? []);
}
