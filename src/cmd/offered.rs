//! The directories that hooks may request, from the flags.

use boathook_sandbox::{Directories, Offer, OfferError};

use crate::cli::directories::{self, Directory};

/// Opens the directories.
pub(super) fn directories(args: &directories::Directories) -> Result<Directories, OfferError> {
    let offer = |one: &Directory| {
        let Directory { name, path, access } = one.clone();
        Offer { name, path, access }
    };
    let offers: Vec<_> = args.directories.iter().map(offer).collect();
    Directories::open(&offers)
}
