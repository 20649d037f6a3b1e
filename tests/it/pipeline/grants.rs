//! A hook that may not do what it tries.

use serde_json::json;

use super::fixture::{Pipeline, config_map};

#[tokio::test]
async fn nothing_is_sent_and_the_failure_names_what_would_allow_it() {
    let pipeline = Pipeline::start(["forbidden"]).await;
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "precious"}});
    let made = pipeline.create(secret.clone()).await;
    pipeline.create(config_map("precious", ("e2e", "forbidden"), json!({}))).await;
    let failed = &pipeline.operator.told("run failed", "forbidden", 1).await[0];
    assert_eq!(failed["kind"], "permanent");
    let error = failed["error"].as_str().unwrap();
    let expected = concat!(
        "ForbiddenByGrant: hook \"forbidden\" may not delete secrets \"precious\" in namespace \"default\": ",
        "add {apiGroups: [\"\"], resources: [secrets], verbs: [delete], namespaces: [default]} to permissions.kubernetes",
    );
    assert_eq!(error, expected);
    assert_eq!(pipeline.get(secret).await, Some(made));
    pipeline.operator.told("triggers given up", "forbidden", 1).await;
}
