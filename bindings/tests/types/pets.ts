// Types of examples/pets: an interface for each entity. A comment says which error a line must give.
import { ExactNumber, load } from "keyfold";
import type { PetsDog, PetsParrot, Tables } from "./keyfold_pets";

const dog: PetsDog = { owner: "ana", petId: "rex", species: "dog", born: "2015-01-01", command: "sit" };
const parrot: PetsParrot = { ...dog, species: "parrot", words: new ExactNumber("12345678901234567890") };

export const right = async (text: string) => {
  const keyfold = await load<Tables>(text);
  keyfold.put("homes", { country: "GB", city: "London", district: "Westminster", street: "Whitehall" });
  return [keyfold.put("pets", dog), keyfold.put("pets", parrot), keyfold.put("pets", { ...parrot, words: 7n })];
};

export const wrong = async (text: string) => {
  const keyfold = await load<Tables>(text);
  keyfold.put("pets", { owner: "ana", petId: "rex", species: "dgo", born: "2015-01-01" }); // error TS2322
  keyfold.put("pets", { owner: "ana", petId: "rex", born: "2015-01-01" }); // error TS2345
  keyfold.put("homes", { country: "GB", city: "London", district: "Westminster" }); // error TS2741
  const cat: PetsDog = { ...dog, species: "cat" }; // error TS2322
  const words: PetsParrot = { ...parrot, words: "7" }; // error TS2322
  return [cat, words];
};
