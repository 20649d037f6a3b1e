//! A cluster with RBAC: who gets in, and what is left of it after a restart.

use boathook_cluster::{Cluster, Options, State, User};
use http::{Method, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::support::soon;

fn with_token(cluster: &Cluster, token: &str) -> Client {
    let mut config = Config::new(cluster.url().parse().unwrap());
    config.auth_info = serde_json::from_value(json!({ "token": token })).unwrap();
    Client::try_from(config).unwrap()
}

async fn who(client: &Client) -> Value {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews");
    let request = request.header("content-type", "application/json").body(review.to_string().into_bytes()).unwrap();
    let answer: Value = client.request(request).await.unwrap();
    answer["status"]["userInfo"].clone()
}

async fn get(client: &Client, path: &str) -> u16 {
    let request = Request::builder().method(Method::GET).uri(path).body(Body::empty()).unwrap();
    client.send(request).await.unwrap().status().as_u16()
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn tokens_say_who_and_roles_say_what() {
    let jane = User::new("jane").group("team");
    let cluster = Cluster::start(Options::default().rbac(true).user("t-jane", jane)).await.unwrap();
    assert_eq!(who(&cluster.client()).await["username"], "admin");
    let jane = with_token(&cluster, "t-jane");
    assert_eq!(who(&jane).await, json!({ "username": "jane", "groups": ["team", "system:authenticated"] }));
    assert_eq!(get(&jane, CONFIG_MAPS).await, 403);
    assert_eq!(get(&with_token(&cluster, "nonsense"), CONFIG_MAPS).await, 401);
    let nobody = Client::try_from(Config::new(cluster.url().parse().unwrap())).unwrap();
    assert_eq!(get(&nobody, CONFIG_MAPS).await, 403);
    assert_eq!(get(&nobody, "/version").await, 200);

    let bindings: Api<k8s_openapi::api::rbac::v1::RoleBinding> = Api::default_namespaced(cluster.client());
    let binding = json!({
        "metadata": { "name": "b" }, "subjects": [{ "kind": "Group", "name": "team" }],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
    });
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    assert_eq!(get(&jane, CONFIG_MAPS).await, 200);
    assert_eq!(get(&jane, "/api/v1/namespaces/default/secrets").await, 403);
    cluster.shutdown().await;
}

#[tokio::test]
async fn the_kubeconfig_works_over_tls() {
    let cluster = Cluster::start(Options::default().rbac(true)).await.unwrap();
    let text = cluster.kubeconfig();
    assert!(text.contains("https://127.0.0.1"), "{text}");
    let config = Kubeconfig::from_yaml(&text).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config).unwrap());
    assert!(maps.list(&ListParams::default()).await.unwrap().items.is_empty());
    cluster.shutdown().await;
}

#[tokio::test]
async fn without_rbac_nobody_is_kept_out() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    assert_eq!(cluster.token(), None);
    for client in [cluster.client(), with_token(&cluster, "from another cluster")] {
        assert_eq!(who(&client).await["username"], "admin");
        assert_eq!(get(&client, CONFIG_MAPS).await, 200);
    }
    cluster.shutdown().await;
}

#[tokio::test]
async fn roles_survive_saving_and_loading() {
    let cluster = Cluster::start(Options::default().rbac(true)).await.unwrap();
    let saved = cluster.save();
    cluster.shutdown().await;
    let state = State::parse("saved.yaml", &saved).unwrap();
    let again = Cluster::start(Options::default().rbac(true).state(state)).await.unwrap();
    let roles: Api<k8s_openapi::api::rbac::v1::ClusterRole> = Api::all(again.client());
    soon("the role", roles.get("cluster-admin")).await.unwrap();
    again.shutdown().await;
}
