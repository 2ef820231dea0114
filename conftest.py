pytest_plugins = ["mqchaos.harness.pytest_plugin"]
