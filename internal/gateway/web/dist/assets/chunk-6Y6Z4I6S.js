function n(e){return e.asked===""?e.opener:e.asked}export{n as a};
//# sourceMappingURL=/assets/chunk-6Y6Z4I6S.js.map
