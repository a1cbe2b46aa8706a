it("never", () => {};
