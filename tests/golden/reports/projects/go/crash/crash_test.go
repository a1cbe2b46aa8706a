package crash

import "testing"

func TestBefore(t *testing.T) {}

func TestCrash(t *testing.T) { panic("half way") }

func TestAfter(t *testing.T) {}
