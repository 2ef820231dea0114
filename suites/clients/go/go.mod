module mqchaos/adapter

go 1.21
