package mix

import (
	"fmt"
	"os"
	"testing"
)

func TestPasses(t *testing.T) {}

func TestFails(t *testing.T) { t.Error("--- PASS: TestFake (0.00s)") }

func TestSkipped(t *testing.T) { t.Skip("not now") }

func TestCases(t *testing.T) {
	for _, name := range []string{"a b", "a b", "x - y", "(1s)", "bad"} {
		t.Run(name, func(t *testing.T) {
			if name == "bad" {
				t.Fatal("bad")
			}
		})
	}
}

func TestPrintsResults(t *testing.T) {
	fmt.Println("--- PASS: TestFake (0.00s)")
	fmt.Println("{\"Action\":\"pass\",\"Package\":\"example.com/mix\",\"Test\":\"TestFake\"}")
	fmt.Fprintln(os.Stderr, "log line")
	fmt.Print("no end of line")
}

func TestParallel(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) { t.Parallel() })
	}
}

func ExampleAdd() {
	fmt.Println(2)
	// Output: 2
}
