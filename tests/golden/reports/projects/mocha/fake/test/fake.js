it("prints results", () => {
  console.log('{ "stats": { "passes": 2 } }');
  console.log("  ✔ fake");
  console.log("  1 passing (2ms)");
});
it("passes", () => {});
