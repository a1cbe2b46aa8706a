#[test]
fn never() {
    undefined();
}
