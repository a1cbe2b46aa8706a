#[test]
fn passes() {
    assert_eq!(mix::add(2, 2), 4);
}

mod tests {
    #[test]
    fn passes() {}
}
