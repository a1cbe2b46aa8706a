package sub

import "testing"

func TestPasses(t *testing.T) {}
