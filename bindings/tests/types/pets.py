"""Types of examples/pets: a dictionary for each entity. A comment says which error a line must give."""

from decimal import Decimal

from keyfold_pets import HomesItem, PetsDog, PetsItem, PetsParrot

dog: PetsDog = {"owner": "ana", "petId": "rex", "species": "dog", "born": "2015-01-01", "command": "sit"}
parrot: PetsParrot = {"owner": "ana", "petId": "io", "species": "parrot", "born": "2015-01-01", "words": Decimal("7")}
pets: list[PetsItem] = [dog, parrot]
home: HomesItem = {"country": "GB", "city": "London", "district": "Westminster", "street": "Whitehall"}

cat: PetsDog = {"owner": "ana", "petId": "rex", "species": "cat", "born": "2015-01-01"}  # error typeddict-item
nobody: PetsDog = {"petId": "rex", "species": "dog", "born": "2015-01-01"}  # error typeddict-item
words: PetsParrot = {"owner": "ana", "petId": "io", "species": "parrot", "born": "2015-01-01", "words": 7.5}  # error typeddict-item
nowhere: HomesItem = {"cty": "London", "country": "GB", "city": "London", "district": "Soho", "street": "Broad"}  # error typeddict-unknown-key
