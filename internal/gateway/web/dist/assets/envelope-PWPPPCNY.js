import{a}from"/assets/chunk-4JL2UM7E.js";import"/assets/chunk-PYHGPBT4.js";import"/assets/chunk-FJKFMZIY.js";import"/assets/chunk-DCI4EF6C.js";import"/assets/chunk-FL6C67XG.js";export{a as EnvelopePanel};
//# sourceMappingURL=/assets/envelope-PWPPPCNY.js.map
