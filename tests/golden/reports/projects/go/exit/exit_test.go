package exit

import (
	"os"
	"testing"
)

func TestBefore(t *testing.T) {}

func TestExit(t *testing.T) { os.Exit(1) }

func TestAfter(t *testing.T) {}
