module github.com/prefinal/prefinal/bindings/go

go 1.24
