//! What a tenant's queues do while the tenant has no more room in the memory that all queues share: they fold, as a
//! queue that is over its bound does. Nothing of other tenants is touched. This ends when the tenant uses half of what
//! it may have, so that it does not begin again and again.

use super::{State, item::Item};
use crate::fair::Tenant;

impl State {
    /// Makes the tenant's queues fold if there is no room for this trigger. O(1) unless the folding begins or ends.
    pub(super) fn make_room(&mut self, item: &mut Item) {
        if !self.pressed.is_empty() && self.memory.is_at_ease(item.held.tenant()) {
            self.relax(item.held.tenant());
        }
        if !item.fits() && self.pressed.insert(item.held.tenant().clone()) {
            let gone: Vec<Item> = self.lines.values_mut().flat_map(|line| line.press(item.held.tenant())).collect();
            self.leave(&gone);
        }
    }

    fn relax(&mut self, tenant: &Tenant) {
        if self.pressed.remove(tenant) {
            let gone: Vec<Item> = self.lines.values_mut().flat_map(|line| line.relax(tenant)).collect();
            self.leave(&gone);
        }
    }

    /// Ends the folding for tenants that hold nothing any more, maybe because they are gone.
    pub(super) fn relax_unused(&mut self) {
        let unused: Vec<_> = self.pressed.iter().filter(|tenant| self.memory.used(tenant) == 0).cloned().collect();
        unused.iter().for_each(|tenant| self.relax(tenant));
    }
}
