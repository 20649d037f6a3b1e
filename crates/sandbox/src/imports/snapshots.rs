//! `snapshots`: the snapshots that a hook may open, read with a cursor. A map is never copied, and neither is an object
//! that the guest does not request.

use std::sync::Arc;

use boathook_core::model::{Item, ObjectKey};
use wasmtime::component::Resource;

use crate::{
    limits,
    snapshots::{Cursor, cost},
    store::State,
    wit::boathook::hook::snapshots::{Host, HostSnapshot, Item as WitItem},
};

impl Host for State {
    fn open(&mut self, binding: String) -> wasmtime::Result<Result<Resource<Cursor>, String>> {
        self.spend(binding.len())?;
        let Some(name) = self.snapshots.find(&binding).cloned() else {
            return Ok(Err(self.snapshots.refusal(&binding)));
        };
        let items = self.snapshots.items(&name);
        self.host.opened(&name, items);
        let Some(items) = items else {
            return Ok(Err(format!("the objects of binding {binding:?} are not known yet; try again later")));
        };
        let cursor = Cursor::new(items.clone());
        Ok(self
            .table
            .push(cursor)
            .map_err(|_| format!("this run holds {} handles already; drop snapshots that were read", limits::HANDLES)))
    }
}

impl HostSnapshot for State {
    fn len(&mut self, snapshot: Resource<Cursor>) -> wasmtime::Result<u64> {
        self.spend(0)?;
        Ok(self.table.get(&snapshot)?.items().size() as u64)
    }

    fn next(&mut self, snapshot: Resource<Cursor>, max: u32) -> wasmtime::Result<Vec<WitItem>> {
        self.spend(0)?;
        let (page, bytes) = self.table.get_mut(&snapshot)?.next(max);
        self.spend_answer(bytes)?;
        Ok(page.iter().map(|item| convert(item)).collect())
    }

    fn get(
        &mut self,
        snapshot: Resource<Cursor>,
        namespace: Option<String>,
        name: String,
    ) -> wasmtime::Result<Option<WitItem>> {
        self.spend(name.len() + super::len(namespace.as_ref()))?;
        let key = ObjectKey { namespace: namespace.map(Arc::from), name: name.into() };
        let Some(item) = self.table.get(&snapshot)?.items().get(&key) else { return Ok(None) };
        let item = item.clone();
        self.spend_answer(cost(&item))?;
        Ok(Some(convert(&item)))
    }

    fn drop(&mut self, snapshot: Resource<Cursor>) -> wasmtime::Result<()> {
        self.table.delete(snapshot)?;
        Ok(())
    }
}

fn convert(item: &Item) -> WitItem {
    let json = |text: Option<&Arc<str>>| text.map(|text| text.as_ref().to_owned());
    WitItem {
        namespace: json(item.key.namespace.as_ref()),
        name: item.key.name.as_ref().to_owned(),
        uid: item.uid.as_ref().to_owned(),
        resource_version: item.resource_version.as_ref().to_owned(),
        object: json(item.object.as_ref()),
        filter_result: json(item.filter_result.as_ref()),
    }
}
