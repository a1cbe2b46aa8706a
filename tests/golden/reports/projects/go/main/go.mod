module example.com/main

go 1.22
