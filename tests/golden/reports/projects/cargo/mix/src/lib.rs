/// Adds.
///
/// ```
/// assert_eq!(mix::add(1, 1), 2);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

#[cfg(test)]
mod tests {
    #[test]
    fn passes() {}

    #[test]
    fn fails() {
        println!("test tests::fake ... ok");
        assert_eq!(1 + 1, 3);
    }

    #[test]
    #[ignore]
    fn ignored() {}

    #[test]
    #[ignore = "not now ... ok"]
    fn ignored_for_a_reason() {}

    #[test]
    #[should_panic(expected = "half way")]
    fn panics() {
        panic!("half way");
    }

    #[test]
    fn logs() {
        eprintln!("log line");
        println!("printed");
    }
}
