//! Leaves the module as it is, for `../snapshot` makes the component.

fn main() {
    println!("cargo::rustc-link-arg=--skip-wit-component");
}
