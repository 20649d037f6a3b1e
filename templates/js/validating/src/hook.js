// Denies namespaces that do not say which team they belong to, and warns of teams that nobody has written down.
//
// It never changes a namespace.

import { allow, deny, hook, openSnapshot } from "@boathook/sdk";

/** The label that every namespace needs. */
const LABEL = "team";

export default hook({
  // What the hook is asked, and what it looks at to answer.
  config: {
    // The teams that there are: kept for the answers, runs nothing.
    kubernetes: [
      {
        name: "teams",
        apiVersion: "v1",
        kind: "ConfigMap",
        namespace: { nameSelector: { matchNames: ["default"] } },
        nameSelector: { matchNames: ["teams"] },
        executeHookOnEvent: [],
        executeHookOnSynchronization: false,
      },
    ],
    // While the hook can't answer, namespaces are made and changed all the same.
    kubernetesValidating: [
      {
        name: "team-label.example.com",
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["namespaces"] }],
        failurePolicy: "Ignore",
        includeSnapshotsFrom: ["teams"],
      },
    ],
  },

  // An error here is not a denial: the webhook's failure policy decides then.
  validate(review) {
    const { name, object } = review;
    const team = object.metadata?.labels?.[LABEL];
    if (!team) return deny(`namespace ${name} needs a label ${LABEL}`, { code: 422, reason: "Invalid" });
    /** @type {import("@boathook/sdk").Snapshot<import("kubernetes-types/core/v1").ConfigMap>} */
    const snapshot = openSnapshot("teams");
    const teams = snapshot.get("default", "teams")?.object;
    if (!teams || Object.hasOwn(teams.data ?? {}, team)) return allow();
    return allow(`team ${team} is not in the ConfigMap default/teams`);
  },
});
