"""What should run where: inventories, hardware profiles, serving specs, plans.

Importing this package costs little; pydantic is loaded when a host's serving spec is first read.
"""
