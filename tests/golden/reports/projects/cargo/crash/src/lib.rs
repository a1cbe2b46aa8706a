#[test]
fn a_before() {}

#[test]
fn b_crash() {
    std::process::abort();
}

#[test]
fn c_after() {}
