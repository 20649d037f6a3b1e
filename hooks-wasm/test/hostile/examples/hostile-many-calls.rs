//! Makes 100 000 calls to the host.

use boathook_sdk::kube::Object;
use boathook_sdk::prelude::*;

fn run(_: Context) -> Result<()> {
    let target = ObjectRef::new("v1", "ConfigMap", "default", "no-such-configmap");
    let mut last = String::new();
    for _ in 0..100_000 {
        if let Err(error) = kube::get_object::<Object>(&target) {
            last = error.to_string();
        }
    }
    Err(Error::permanent(format!("100000 calls made, the last one answered: {last}")))
}

boathook_sdk::hook!(hostile::config, run);
