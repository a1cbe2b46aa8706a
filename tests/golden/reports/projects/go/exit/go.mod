module example.com/exit

go 1.22
