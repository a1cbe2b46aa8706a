package bad

import "testing"

func TestNever(t *testing.T) { undefined() }
