//! Returns a document with many mistakes.

fn config() -> &'static str {
    "configVersion: v1
onStartup: first
schedule:
  - crontab: '61 * * * *'
kubernetes:
  - name: pods
    kind: Pod
    executeHookOnEvent: [Created]
    jqFilter: '.metadata |'
    colour: blue
permissions:
  kubernetes:
    - resources: [pods]
limits:
  time: soon
"
}

boathook_sdk::hook!(config, hostile::run);
