//! Gives the program the versions of its libraries, as the lock file has them.

fn main() {
    let lock = std::fs::read_to_string("Cargo.lock").expect("the lock file is beside this one");
    for name in ["h3", "msquic", "quinn", "tquic"] {
        let package = format!("name = \"{name}\"\nversion = \"");
        let version = lock.split(&package).nth(1).and_then(|rest| rest.split('"').next());
        println!("cargo::rustc-env={}_VERSION={}", name.to_uppercase(), version.unwrap_or("unknown"));
    }
    println!("cargo::rerun-if-changed=Cargo.lock");
}
