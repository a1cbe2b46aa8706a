#[test]
fn a_before() {}

#[test]
fn b_exit() {
    std::process::exit(0);
}

#[test]
fn c_after() {}
