# Denies namespaces that do not say which team they belong to, and warns of teams that nobody has written down.
#
# It never changes a namespace.

import boathook
from boathook import Review, Verdict, allow, deny, snapshots

# The label that every namespace needs.
LABEL = "team"

# What the hook is asked, and what it looks at to answer.
boathook.configure(
    {
        "kubernetes": [
            # The teams that there are: kept for the answers, runs nothing.
            {
                "name": "teams",
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "namespace": {"nameSelector": {"matchNames": ["default"]}},
                "nameSelector": {"matchNames": ["teams"]},
                "executeHookOnEvent": [],
                "executeHookOnSynchronization": False,
            }
        ],
        "kubernetesValidating": [
            {
                "name": "team-label.example.com",
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["namespaces"],
                    }
                ],
                # While the hook can't answer, namespaces are made and changed all the same.
                "failurePolicy": "Ignore",
                "includeSnapshotsFrom": ["teams"],
            }
        ],
    }
)


# An error here is not a denial: the webhook's failure policy decides then.
@boathook.on_validating("team-label.example.com")
def validate(review: Review) -> Verdict:
    team = (review.object["metadata"].get("labels") or {}).get(LABEL)
    if team is None:
        return deny(f"namespace {review.name} needs a label {LABEL}", code=422, reason="Invalid")
    teams = snapshots.open("teams").get("default", "teams")
    if teams is None or team in (teams.object.get("data") or {}):
        return allow()
    return allow(f"team {team} is not in the ConfigMap default/teams")
